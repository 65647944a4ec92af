#include "emit/rule_table.hpp"

#include <algorithm>

#include "emit/lower.hpp"
#include "support/hash.hpp"

namespace sframe_gen::emit {

namespace {

std::uint64_t with(std::uint64_t hash, const sframe::Rule& rule) {
  const std::uint64_t base = rule.base_register ? std::uint64_t{*rule.base_register} + 1 : 0;
  return chained(hash, base << 33U ^ static_cast<std::uint64_t>(rule.dereferenced) << 32U ^
                           static_cast<std::uint32_t>(rule.offset));
}

std::uint64_t with(std::uint64_t hash, const std::optional<sframe::Rule>& rule) {
  return rule ? with(hash, *rule) : chained(hash, ~std::uint64_t{0});
}

std::uint64_t hash_of(const std::optional<sframe::RecoveryRules>& recovery) {
  std::uint64_t hash = seed_of_run();
  if (!recovery) return hash;
  hash = with(hash * 2 + (recovery->mangled_ra ? 1 : 0), recovery->cfa);
  return with(with(hash, recovery->return_address), recovery->frame_pointer);
}

}  // namespace

RuleId RuleTable::id_of(const std::optional<sframe::RecoveryRules>& recovery) {
  const std::uint64_t hash = hash_of(recovery);
  const auto known = numbers_.find(hash, [&](RuleId rule) { return rules_[rule].recovery == recovery; });
  if (known) return *known;
  rules_.push_back(encode(recovery));
  return numbers_.add(hash);
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

void LoweredRules::work_out(cfi::RuleNumber number) {
  const auto index = static_cast<std::size_t>(number);
  if (index >= rows_.size()) {
    const std::size_t size = std::max(index + 1, rules_.size());
    lowered_.resize(size);
    rows_.resize(size);
  }
  const Lowered& lowered = lowered_[index] = emit::lower(rules_[number], dialect_);
  if (const auto* const recovery = std::get_if<sframe::RecoveryRules>(&lowered)) {
    const bool fits_default = !obstacle_to_default(*recovery, dialect_);
    rows_[index] = {fits_default ? Row::Kind::Default : Row::Kind::Flexible, table_.id_of(*recovery)};
  } else if (std::holds_alternative<Outermost>(lowered)) {
    rows_[index] = {Row::Kind::Default, table_.id_of(std::nullopt)};
  } else {
    rows_[index].kind = Row::Kind::None;
  }
}

void LoweredRules::keep_up_with_generation() {
  if (generation_ == rules_.generation()) return;
  generation_ = rules_.generation();
  lowered_.clear();
  rows_.clear();
  table_.clear();
}

sframe::Fde spelled_out(const NumberedFde& fde, const RuleTable& rules) {
  sframe::Fde result{fde.start, fde.size, fde.signal_frame, fde.b_key, fde.pc_type, fde.repeat_size, fde.type, {}};
  result.fres.reserve(fde.fres.size());
  for (const NumberedFre& fre : fde.fres) result.fres.push_back({fre.pc_offset, rules.recovery(fre.rule)});
  return result;
}

}  // namespace sframe_gen::emit
