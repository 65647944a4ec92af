#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sframe_gen/format.hpp"

/// What the instructions around the PC of an interrupted function tell, which no row does.
namespace sframe_gen::trace::walk {

/// Returns whether the instruction that `before` ends with is a system call. A thread in it has the PC after it, where
/// its function may have ended: glibc's __restore_rt does.
bool ends_in_system_call(sframe::Abi abi, std::span<const std::byte> before);

/// Returns how far below the stack pointer the frame pointer was, in bytes, if an epilogue has just popped it: with
/// `leave` or `pop %rbp`, and other pops after it. 0: the code is not that. `before` ends, and `after` begins, at the
/// PC. x86-64 only: on other machines, CFI says so.
///
/// GCC leaves the rule of %rbp as it was there. So the row names a slot that is no longer part of the stack, while the
/// register has the value that was in it.
std::uint64_t popped_frame_pointer(std::span<const std::byte> before, std::span<const std::byte> after);

}  // namespace sframe_gen::trace::walk
