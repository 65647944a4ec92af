#pragma once

#include "sframe_gen/unwind.hpp"
#include "trace/walk/address_space.hpp"

namespace sframe_gen::trace {

/// Where a signal handler returns to, a system call stands that gives the interrupted registers back. The vDSOs of
/// aarch64 and s390x (Linux 6.1) have no call frame information for it, and no row of s390x could say it; but where the
/// call finds the registers is part of what the kernel promises. If the instruction at the PC is that call, puts them
/// into `registers`; false leaves these as they are.
bool return_from_signal(AddressSpace& space, unwind::Registers& registers, unwind::ReadMemory read, void* context);

}  // namespace sframe_gen::trace
