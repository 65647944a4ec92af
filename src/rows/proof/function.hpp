#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "rows/proof/program.hpp"
#include "rows/proof/state.hpp"

namespace sframe_gen::rows::proof {

/// Follows every path of a function from its entry, and compares what is proved with CFI. Work is bounded by the size
/// of `own`: a path visits an instruction again only if it is known to hold less than before, and code outside of
/// `own` is followed as far as the bound allows.
FunctionProof prove_function(Program& program, std::uint64_t start, const Range& own);

/// A reached instruction, and what holds before it on every path.
struct Step {
  std::uint64_t pc = 0;
  Instruction instruction;
  bool goes_on = false;                ///< to the next one: not after a jump, nor a call that does not return
  Value table;                         ///< where an indirect jump goes to
  std::vector<std::uint64_t> targets;  ///< of an indirect jump through a table
  /// Where a path ended at a call that may be one of setjmp(): offsets from the CFA of slots with the caller's FP that
  /// the function pops into it. Null: none ended so. Valid for this call.
  const std::set<std::int64_t>* popped_frame_pointers = nullptr;
  bool may_be_anothers = false;  ///< only calls or tables lead here, or the part is split off, and no path leads out
};
using StepVisitor = std::function<void(const Step&, const State&)>;

/// Proves the function again, with all that is known of its callees by now, and shows each step once: its own code by
/// ascending PC. The steps count only if the result is not refused.
FunctionProof visit_steps(Program& program, const FunctionProof& function, const StepVisitor& visit);

/// Where a refused function goes. What its proof has lost on a path is not known from there on.
struct Reach {
  std::map<std::uint64_t, std::optional<cfi::Rules>> blocks;  ///< where they begin, and the rules there, if known
  std::vector<Range> instructions;
};
Reach reach_of(Program& program, const FunctionProof& function);

}  // namespace sframe_gen::rows::proof
