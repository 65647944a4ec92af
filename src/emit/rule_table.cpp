#include "emit/rule_table.hpp"

#include "emit/default_form.hpp"
#include "support/hash.hpp"

namespace sframe_gen::emit {

namespace {

std::uint64_t bits_of(const sframe::Rule& rule) {
  const std::uint64_t base = rule.base_register ? std::uint64_t{*rule.base_register} + 1 : 0;
  return base << 33U ^ static_cast<std::uint64_t>(rule.dereferenced) << 32U ^ static_cast<std::uint32_t>(rule.offset);
}

std::uint64_t hash_of(const std::optional<sframe::RecoveryRules>& recovery) {
  if (!recovery) return 0;
  std::uint64_t bits = bits_of(recovery->cfa) * 3 + (recovery->mangled_ra ? 1 : 0);
  if (recovery->return_address) bits = bits * 0x9e3779b97f4a7c15U + bits_of(*recovery->return_address);
  bits *= 0x9e3779b97f4a7c15U;
  if (recovery->frame_pointer) bits += bits_of(*recovery->frame_pointer) + 1;
  return mixed(bits);
}

}  // namespace

RuleId RuleTable::id_of(const std::optional<sframe::RecoveryRules>& recovery) {
  const auto known = numbers_.find(hash_of(recovery), [&](RuleId rule) { return rules_[rule].recovery == recovery; });
  if (known) return *known;
  rules_.push_back(encode(recovery));
  return numbers_.add([&](RuleId rule) { return hash_of(rules_[rule].recovery); });
}

void RuleTable::clear() {
  rules_.clear();
  numbers_.clear();
  ++generation_;
}

RuleTable::Entry RuleTable::encode(const std::optional<sframe::RecoveryRules>& recovery) const {
  Entry entry{recovery, {}, {}};
  if (!recovery || !obstacle_to_default(*recovery, dialect_))
    entry.plain = encode_tail(recovery, sframe::FdeType::Default, dialect_);
  if (dialect_.flexible_descriptors) entry.flexible = encode_tail(recovery, sframe::FdeType::Flexible, dialect_);
  return entry;
}

}  // namespace sframe_gen::emit
