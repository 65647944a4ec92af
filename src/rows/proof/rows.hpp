#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string_view>

#include "cfi/rules.hpp"
#include "rows/proof/state.hpp"

namespace sframe_gen::rows::proof {

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
