#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cfi/rules.hpp"
#include "rows/proof/state.hpp"
#include "support/range.hpp"

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

/// PCs where CFI and a proved state differ.
struct Disagreement {
  enum class Column : std::uint8_t { Cfa, ReturnAddress, FramePointer };
  Range pcs;
  Column column = Column::Cfa;
  std::uint64_t instruction =
      0;                 ///< that decides it: the last one before, or the jump there, on the path that came first
  cfi::RuleId rule = 0;  ///< what CFI says
  Value base{};          ///< what the register of CFI's CFA holds, or FP
};

/// What is known of one function.
struct FunctionProof {
  std::uint64_t start = 0;  ///< virtual address
  Range own;                ///< its code: from its start to the end of its FDE or, without CFI, to the next function
  Refusal refusal = Refusal::None;
  std::uint64_t refused_at = 0;  ///< the PC of the instruction
  CalleeEffect effect;           ///< on callers
  bool has_return = false;       ///< as at the entry
  bool has_sure_return = false;  ///< and no call on the way there may be one that does not return
  bool has_own_end = false;      ///< a return or a last jump, where State::may_be_another is false
  bool has_indirect_tail = false;
  bool has_imported_tail = false;               ///< it ends by jumping to a function of another file
  bool has_endless_end = false;                 ///< a path ends where the program ends, or by longjmp
  bool has_split_parts = false;                 ///< it jumps to code without CFI beyond its own
  bool jumps_without_frame_pointer = false;     ///< to another function, where `rbp` may not hold the caller's
  bool begins_without_frame_pointer = false;    ///< where such a jump may lead
  bool is_taken_only = false;                   ///< an address that is taken is all that says a function starts here
  bool jumps_inside_another = false;            ///< to a place in another function that is not its start
  std::vector<std::uint64_t> unbounded_tables;  ///< addresses of those that were read by their contents
  std::vector<std::uint64_t> tails;             ///< functions that it ends by jumping to
  std::vector<std::uint64_t> callees;           ///< that it calls directly, each once
  std::uint64_t steps = 0;                      ///< that its proof took
  std::uint64_t compared_bytes = 0;             ///< of instructions whose rows of CFI were compared
  std::vector<Disagreement> disagreements;      ///< of a function that is refused: on the way in
  std::vector<Disagreement> doubted;            ///< others, on paths that may be none
};

}  // namespace sframe_gen::rows::proof
