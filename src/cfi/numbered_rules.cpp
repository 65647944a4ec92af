#include "cfi/numbered_rules.hpp"

#include "cfi/rule_hash.hpp"

namespace sframe_gen::cfi {

namespace {

constexpr std::size_t many = std::size_t{1} << 16;

}  // namespace

RuleNumber NumberedRules::number_of(const Rules& rules) {
  const std::uint64_t hash = hash_of(rules);
  const auto known = numbers_.find(hash, [&](std::uint32_t number) { return rules_[number] == rules; });
  if (known) return RuleNumber{*known};
  rules_.push_back(rules);
  return RuleNumber{numbers_.add(hash)};
}

void NumberedRules::forget_if_many() {
  if (rules_.size() >= many) forget();
}

void NumberedRules::forget() {
  rules_.clear();
  numbers_.clear();
  ++generation_;
}

}  // namespace sframe_gen::cfi
