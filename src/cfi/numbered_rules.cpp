#include "cfi/numbered_rules.hpp"

#include "cfi/rule_hash.hpp"

namespace sframe_gen::cfi {

namespace {

constexpr std::size_t first_slots = 512;
constexpr std::size_t many = std::size_t{1} << 16;

}  // namespace

NumberedRules::NumberedRules() : slots_(first_slots) {}

RuleNumber NumberedRules::number_of(const Rules& rules) {
  std::size_t slot = slot_of(rules);
  if (slots_[slot] == 0) {
    if (rules_.size() == slots_.size() / 2) {
      grow();
      slot = slot_of(rules);
    }
    rules_.push_back(rules);
    slots_[slot] = static_cast<std::uint32_t>(rules_.size());
  }
  return RuleNumber{slots_[slot] - 1};
}

/// Where the rules are, or have to go.
std::size_t NumberedRules::slot_of(const Rules& rules) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash_of(rules) & mask;
  while (slots_[slot] != 0 && rules_[slots_[slot] - 1] != rules) slot = (slot + 1) & mask;
  return slot;
}

void NumberedRules::grow() {
  slots_.assign(slots_.size() * 2, 0);
  for (std::size_t i = 0; i < rules_.size(); ++i) slots_[slot_of(rules_[i])] = static_cast<std::uint32_t>(i + 1);
}

void NumberedRules::forget_if_many() {
  if (rules_.size() < many) return;
  rules_.clear();
  slots_.assign(first_slots, 0);
  ++generation_;
}

}  // namespace sframe_gen::cfi
