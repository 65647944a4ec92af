#pragma once

#include <cstdint>

#include "sframe_gen/unwind.hpp"
#include "support/endian.hpp"

namespace sframe_gen::trace::walk {

/// Whether a program's first thread has its stack pointer where the kernel put it: at the number of its arguments,
/// which are followed by their addresses, those of the environment, and the auxiliary vector. What runs there has no
/// caller, as callers would have their frames above. So begin the dynamic loader and hand-written programs, which have
/// no CFI. Reads at most 8192 words, which `read` gives in the order of bytes `endian`.
bool is_begin_of_stack(Endian endian, std::uint64_t stack_pointer, unwind::ReadMemory read, void* context);

}  // namespace sframe_gen::trace::walk
