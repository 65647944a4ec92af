#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string_view>

#include "cfi/rules.hpp"
#include "rows/proof/function_proof.hpp"
#include "rows/proof/state.hpp"

/// Proved states and the rules of CFI: whether these are right, and the rules that say what a state knows.
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

/// The rules of a row for a proved state, in the words of CFI: the CFA counts from FP in the usual frame (FP = CFA -
/// 16), from SP where that is known, else from FP; the return address is at CFA - 8; the caller's FP is in its
/// register, or where the function has saved it. No value: the CFA counts from neither, or the return address or the
/// caller's FP is nowhere.
///
/// `is_call`: the row is of a call, and holds in the callee as well: what is below SP is the callee's.
///
/// `popped`: offsets from the CFA of slots that the function pops into FP; the row names such a slot also while the
/// register is unchanged. Null: it does not.
std::optional<cfi::Rules> rules_of(const State& state, bool is_call = false,
                                   const std::set<std::int64_t>* popped = nullptr);

/// Why a state has no rules: "other-base", "return-address-moved" or "frame-pointer-unknown".
std::string_view why_no_rules(const State& state, bool is_call);

}  // namespace sframe_gen::rows::proof
