#pragma once

#include <cstdint>
#include <vector>

#include "cfi/rules.hpp"
#include "rows/proof/refusal.hpp"
#include "rows/proof/state.hpp"
#include "support/range.hpp"

namespace sframe_gen::rows::proof {

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
  Range own;                ///< its code: from its start to the end of its FDE
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
