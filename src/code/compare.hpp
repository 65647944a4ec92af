#pragma once

#include <optional>

#include "cfi/rules.hpp"
#include "code/program.hpp"
#include "code/state.hpp"

namespace sframe_gen::code {

/// What CFI says wrongly of a state; without a value if nothing, or if the state does not know. `pcs` and `instruction`
/// of the result are not set.
std::optional<Disagreement> disagreement(const cfi::Rules& rules, const State& state);

/// Returns the rules of a function of CFI at `pc`, which it holds.
cfi::RuleId rule_at(const cfi::Function& function, std::uint64_t pc);

}  // namespace sframe_gen::code
