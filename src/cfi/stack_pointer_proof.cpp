#include "cfi/stack_pointer_proof.hpp"

#include <algorithm>

namespace sframe_gen::cfi {

namespace {

bool counts_from_frame(const Rules& rules, const TrackedRegisters& tracked) {
  const auto* cfa = std::get_if<Formula>(&rules.cfa);
  return cfa != nullptr && !cfa->dereferenced &&
         (cfa->base == tracked.stack_pointer || cfa->base == tracked.frame_pointer);
}

bool is_at_entry(const Rules& rules, const TrackedRegisters& tracked) {
  const RegisterRule& rule = rules.stack_pointer;
  const bool unchanged = std::holds_alternative<Unspecified>(rule) || std::holds_alternative<SameValue>(rule);
  return unchanged && rules.cfa == CfaRule(Formula{tracked.stack_pointer, tracked.entry_cfa_offset, false});
}

/// In a register, or in a slot of the frame. What else it may be proves that something else is going on.
bool keeps_callers_value(const RegisterRule& rule) {
  const auto* formula = std::get_if<Formula>(&rule);
  return formula != nullptr && (formula->base ? !formula->dereferenced && formula->offset == 0 : formula->dereferenced);
}

}  // namespace

void drop_proven_stack_pointers(std::vector<NumberedRow>& rows, NumberedRules& rules, const TrackedRegisters& tracked) {
  const auto keeps = [&](const NumberedRow& row) { return keeps_callers_value(rules[row.rules].stack_pointer); };
  if (std::ranges::none_of(rows, keeps)) return;
  const auto from_frame = [&](const NumberedRow& row) { return counts_from_frame(rules[row.rules], tracked); };
  const auto at_entry = [&](const NumberedRow& row) { return is_at_entry(rules[row.rules], tracked); };
  if (!std::ranges::all_of(rows, from_frame) || std::ranges::none_of(rows, at_entry)) return;
  for (NumberedRow& row : rows) {
    if (!keeps(row)) continue;
    Rules without = rules[row.rules];
    without.stack_pointer = Unspecified{};
    row.rules = rules.number_of(without);
  }
  const auto same = [](const NumberedRow& a, const NumberedRow& b) { return a.rules == b.rules; };
  rows.erase(std::unique(rows.begin(), rows.end(), same), rows.end());
}

}  // namespace sframe_gen::cfi
