#pragma once

#include "sframe_gen/unwind.hpp"
#include "unwind/stack_memory.hpp"

namespace sframe_gen::unwind {

/// Where a signal handler returns to on aarch64 and s390x, no file need say what it returns to: the vDSOs of Linux 6.1
/// do not, and for s390x no row could. There a system call stands that gives the interrupted registers back, and where
/// it finds them is part of what the kernel promises. If the instruction at the PC is that call, puts them into
/// `registers`; false leaves these as they are. Reads nothing that cannot be read.
bool return_from_signal(StackMemory& memory, Registers& registers);

}  // namespace sframe_gen::unwind
