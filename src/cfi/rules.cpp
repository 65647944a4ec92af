#include "cfi/rules.hpp"

#include <stdexcept>
#include <string>

namespace sframe_gen::cfi {

RuleId RuleTable::intern(const Rules& rules) {
  const std::uint64_t hash = hash_of(rules);
  const std::lock_guard lock(mutex_);
  const auto known = numbers_.find(hash, [&](RuleId rule) { return rules_[rule] == rules; });
  if (known) return *known;
  add_details(next(), rules);
  return add(hash, rules);
}

RuleId RuleTable::next() const {
  if (rules_.size() == most_rules)
    throw std::length_error("has more than " + std::to_string(most_rules) + " different unwind rules");
  return static_cast<RuleId>(rules_.size());
}

RuleId RuleTable::add(std::uint64_t hash, const Rules& rules) {
  rules_.push_back(rules);
  return numbers_.add(hash);
}

}  // namespace sframe_gen::cfi
