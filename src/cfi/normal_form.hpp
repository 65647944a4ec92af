#pragma once

#include <cstdint>
#include <optional>

#include "cfi/frame_row.hpp"

namespace sframe_gen::cfi {

/// The same rules in the words that SFrame has, where the CFA says more of a rule than the rule itself: a value CFA + N
/// is counted from the CFA's register, and a slot at that register + N from the CFA. Equal rules then compare equal.
Rules normal_form(const Rules& rules);

/// What is left if the caller's SP is said to be the CFA + `bias`, as SFrame takes it: rules in normal form, counted
/// from that CFA. `stack_pointer` is another value than DWARF's CFA + bias, in normal form. Without a value where a
/// rule counts from a CFA that is in memory: once another value takes its name, nothing else leads there.
std::optional<Rules> counted_from_stack_pointer(const Rules& rules, const Formula& stack_pointer, std::int64_t bias);

}  // namespace sframe_gen::cfi
