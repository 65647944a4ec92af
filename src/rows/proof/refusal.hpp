#pragma once

#include <cstddef>
#include <cstdint>

namespace sframe_gen::rows::proof {

/// Why a function is not proved. A refused function has no proved state at all, and is not compared with anything.
enum class Refusal : std::uint8_t {
  None,                     ///< it is proved
  Undecodable,              ///< bytes that are no instruction which the decoder knows
  OutsideCode,              ///< a path leaves the file's code
  OverlappingInstructions,  ///< an instruction begins inside another one that is reached
  ConflictingPaths,         ///< paths meet with different stack pointers
  StackPointerLost,         ///< an instruction gives SP a value that cannot be known, and no frame pointer is there
  OtherStack,               ///< an instruction switches stacks, or is one that compilers do not use
  OtherConvention,          ///< it takes addresses from registers that it must keep, and no CFI describes it
  ReturnNotAtEntry,         ///< at a return, SP is not as at the entry
  FramePointerLost,         ///< FP is not as at the entry at a return, or not the caller's at a jump to the function,
                            ///< which no CFI describes
  ReturnAddressLost,        ///< at a return, the slot does not hold the entry's return address
  CalleePops,               ///< a return removes arguments
  CalleeUnbalanced,         ///< a function that it calls does not return as System V asks
  NoReturn,                 ///< no return is reached
  IndirectJump,             ///< an indirect jump whose targets are not known, with a frame
  JumpTable,                ///< a jump table has an entry that cannot be right
  FlowsIntoFunction,        ///< it jumps into another function with a frame, or falls through into it
  TailNotProved,            ///< it ends by a jump to a function that is not proved
  EntryPoint,               ///< the file's entry point, which nothing has called, and no CFI describes it
  NotEntered,               ///< only refused functions jump to it
  TooMuchCode,              ///< it reaches more code outside of its own than its size allows
  Count
};

inline constexpr std::size_t refusal_count = static_cast<std::size_t>(Refusal::Count);

/// Returns the name for reports: "conflicting-paths".
const char* name_of(Refusal refusal);

}  // namespace sframe_gen::rows::proof
