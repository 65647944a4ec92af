#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "sframe/format.hpp"
#include "sframe_gen/format.hpp"

/// From a frame to its caller by the frame pointer: on x86-64 and AArch64, functions that keep one have it point to the
/// caller's frame pointer, and the return address is in the next word. s390x has no such register.
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

}  // namespace sframe_gen::trace::walk
