#include "cfi/stack_pointer_proof.hpp"

#include <algorithm>

namespace sframe_gen::cfi {

namespace {

bool counts_from_frame(const FrameRow& row, const TrackedRegisters& tracked) {
  const auto* cfa = std::get_if<Formula>(&row.rules.cfa);
  return cfa != nullptr && !cfa->dereferenced &&
         (cfa->base == tracked.stack_pointer || cfa->base == tracked.frame_pointer);
}

bool is_at_entry(const FrameRow& row, const TrackedRegisters& tracked) {
  const RegisterRule& rule = row.rules.stack_pointer;
  const bool unchanged = std::holds_alternative<Unspecified>(rule) || std::holds_alternative<SameValue>(rule);
  return unchanged && row.rules.cfa == CfaRule(Formula{tracked.stack_pointer, tracked.entry_cfa_offset, false});
}

/// In a register, or in a slot of the frame. What else it may be proves that something else is going on.
bool keeps_callers_value(const RegisterRule& rule) {
  const auto* formula = std::get_if<Formula>(&rule);
  return formula != nullptr && (formula->base ? !formula->dereferenced && formula->offset == 0 : formula->dereferenced);
}

}  // namespace

void drop_proven_stack_pointers(std::vector<FrameRow>& rows, const TrackedRegisters& tracked) {
  const auto keeps = [](const FrameRow& row) { return keeps_callers_value(row.rules.stack_pointer); };
  if (std::ranges::none_of(rows, keeps)) return;
  const bool proven = std::ranges::all_of(rows, [&](const FrameRow& row) { return counts_from_frame(row, tracked); }) &&
                      std::ranges::any_of(rows, [&](const FrameRow& row) { return is_at_entry(row, tracked); });
  if (!proven) return;
  for (FrameRow& row : rows) {
    if (keeps(row)) row.rules.stack_pointer = Unspecified{};
  }
  const auto same = [](const FrameRow& a, const FrameRow& b) { return a.rules == b.rules; };
  rows.erase(std::unique(rows.begin(), rows.end(), same), rows.end());
}

}  // namespace sframe_gen::cfi
