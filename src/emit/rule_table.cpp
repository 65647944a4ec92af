#include "emit/rule_table.hpp"

#include <algorithm>

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
  const std::uint64_t hash = hash_of(recovery);
  RuleId& recent = recent_[hash % recent_count];
  if (recent >= rules_.size() || rules_[recent].recovery != recovery) recent = find_or_add(recovery, hash);
  return recent;
}

RuleId RuleTable::find_or_add(const std::optional<sframe::RecoveryRules>& recovery, std::uint64_t hash) {
  const auto [begin, end] = by_hash_.equal_range(hash);
  const auto found =
      std::find_if(begin, end, [&](const auto& known) { return rules_[known.second].recovery == recovery; });
  if (found != end) return found->second;
  const auto added = static_cast<RuleId>(rules_.size());
  rules_.push_back(encode(recovery));
  by_hash_.emplace(hash, added);
  return added;
}

void RuleTable::clear() {
  rules_.clear();
  by_hash_.clear();
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
