#pragma once

#include <cstdint>

#include "sframe/format.hpp"
#include "sframe_gen/unwind.hpp"
#include "trace/walk/address_space.hpp"

namespace sframe_gen::trace::walk {

/// Why a frame pointer leads to no caller.
enum class FramePointerFault : std::uint8_t {
  None,
  NotAbove,     ///< it is below the stack pointer
  Outside,      ///< it is not in the memory that the stack pointer is in, without a gap, or more than 1 MiB above
  NoCode,       ///< the return address is in no executable memory
  NoCall,       ///< the return address is in a file, and nothing there returns to it
  NotRising,    ///< in code of no file: the caller's frame pointer is not above that of the callee
  OtherReturn,  ///< in code of no file: the stack has a return address that the step may leave out
};

/// Returns a few words for a message. `is_piece`: the stack is a recorded piece of one.
const char* text_of(FramePointerFault fault, bool is_piece);

/// A step by the frame pointer, where there is one.
class FramePointerStep {
 public:
  explicit FramePointerStep(const sframe::AbiTraits& abi) : abi_(abi) {}

  /// Whether the frame in `registers` may be left by one: the machine has it, and its value is known.
  bool is_possible(const unwind::Registers& registers) const;

  /// Goes to the caller of the frame in `registers`, which stay as they are unless it returns Stepped. Returns
  /// Outermost if the return address is 0, and NoRow with a `fault` if there is no caller where the frame pointer
  /// leads. Reads one word of each page between stack pointer and frame pointer.
  ///
  /// On x86-64, the caller's stack pointer is after the return address. On AArch64, it is somewhere above, as functions
  /// may keep others of their words there: it becomes unknown, and its value one that it is not below.
  unwind::Stop step(const AddressSpace& space, unwind::ReadMemory read, void* context, unwind::Registers& registers,
                    FramePointerFault& fault) const;

 private:
  const sframe::AbiTraits& abi_;
};

}  // namespace sframe_gen::trace::walk
