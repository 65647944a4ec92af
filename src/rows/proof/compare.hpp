#pragma once

#include <optional>

#include "cfi/rules.hpp"
#include "rows/proof/function_proof.hpp"
#include "rows/proof/state.hpp"

namespace sframe_gen::rows::proof {

/// What CFI says wrongly of a state; without a value if nothing, or if the state does not know. `pcs` and `instruction`
/// of the result are not set.
std::optional<Disagreement> disagreement(const cfi::Rules& rules, const State& state);

/// Returns the rules of a function of CFI at `pc`, which it holds.
cfi::RuleId rule_at(const cfi::Function& function, std::uint64_t pc);

/// Whether CFI is of code that is called: not of a signal frame, which the kernel makes, nor of a PLT's entries.
inline bool may_be_judged(const cfi::Function& function) {
  return !function.signal_frame && function.repeat_size == 0;
}

}  // namespace sframe_gen::rows::proof
