#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "sframe/format.hpp"
#include "sframe_gen/format.hpp"

/// What the instructions around a PC tell, which no row does: of frame pointers, calls and interrupted functions. On
/// x86-64 and AArch64, functions that keep a frame pointer have it point to the caller's, and the return address is in
/// the next word. s390x has no such register.
namespace sframe_gen::trace::walk {

/// Where a caller is found by the frame pointer, as the code has no row.
enum class FramePointers : std::uint8_t {
  Auto,    ///< in code of no file whose stack shows it, and in code of files that is seen to keep frame pointers
  Always,  ///< wherever there is no row
  Never,
};

/// Returns where in `code` the last instructions begin that set a frame pointer. None: there are none, or a function
/// seems to end after them. `code`: up to a PC; on AArch64 from an instruction on. `address`: of its begin, for what is
/// aligned.
std::optional<std::size_t> find_frame_pointer_setup(sframe::Abi abi, std::span<const std::byte> code,
                                                    std::uint64_t address);

/// Whether `code` begins with a return, whose function has left its frame already.
bool begins_with_return(sframe::Abi abi, std::span<const std::byte> code);

/// Whether a function may return to between `before` and `after`: after a call, or to the system call by which a
/// signal's handler ends. On AArch64, `before` ends where an instruction does.
bool may_return_between(sframe::Abi abi, std::span<const std::byte> before, std::span<const std::byte> after);

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
