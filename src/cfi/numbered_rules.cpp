#include "cfi/numbered_rules.hpp"

#include "cfi/rule_hash.hpp"

namespace sframe_gen::cfi {

namespace {

constexpr std::size_t many = std::size_t{1} << 16;

}  // namespace

RuleNumber NumberedRules::number_of(const Rules& rules) {
  const auto known = numbers_.find(hash_of(rules), [&](std::uint32_t number) { return rules_[number] == rules; });
  if (known) return RuleNumber{*known};
  rules_.push_back(rules);
  return RuleNumber{numbers_.add([&](std::uint32_t number) { return hash_of(rules_[number]); })};
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
