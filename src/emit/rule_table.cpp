#include "emit/rule_table.hpp"

#include <mutex>

#include "emit/lower.hpp"

namespace sframe_gen::emit {

namespace {

std::uint64_t hash_of(const RuleTable::Words& words) {
  return hash_of_bytes(words.flexible.bytes(), hash_of_bytes(words.plain.bytes(), seed_of_run()));
}

}  // namespace

RuleTable::Words RuleTable::encoded(const std::optional<sframe::RecoveryRules>& recovery) const {
  Words words;
  const bool fits_default = !recovery || !obstacle_to_default(*recovery, dialect_);
  words.form = !recovery ? Form::Outermost : fits_default ? Form::Default : Form::Flexible;
  words.is_signed = recovery && recovery->mangled_ra;
  if (fits_default) words.plain = encode_tail(recovery, sframe::FdeType::Default, dialect_);
  if (dialect_.flexible_descriptors) words.flexible = encode_tail(recovery, sframe::FdeType::Flexible, dialect_);
  return words;
}

void RuleTable::add_details(RuleId rule, const cfi::Rules& rules) {
  const Lowered lowered = lower(rules, dialect_);
  if (const auto* const obstacle = std::get_if<Unrepresentable>(&lowered)) {
    words_.push_back({Form::None, *obstacle, false, no_rule, {}, {}});
  } else if (std::holds_alternative<cfi::PltStub>(lowered)) {
    words_.push_back({Form::PltEntries, {}, false, no_rule, {}, {}});
  } else {
    const auto* const recovery = std::get_if<sframe::RecoveryRules>(&lowered);
    add_words(encoded(recovery != nullptr ? std::optional(*recovery) : std::nullopt), rule);
  }
}

std::optional<RuleId> RuleTable::find(const Words& words) const {
  const auto number = numbers_.find(hash_of(words), [&](std::uint32_t candidate) {
    const Words& other = words_[firsts_[candidate]];
    return other.plain == words.plain && other.flexible == words.flexible;
  });
  return number ? std::optional(firsts_[*number]) : std::nullopt;
}

void RuleTable::add_words(Words words, RuleId rule) {
  const std::optional<RuleId> known = find(words);
  words.first = known.value_or(rule);
  words_.push_back(words);
  if (known) return;
  firsts_.push_back(rule);
  numbers_.add(hash_of(words));
}

RuleId RuleTable::intern(const std::optional<sframe::RecoveryRules>& recovery) {
  const Words words = encoded(recovery);
  const std::lock_guard lock(mutex_);
  if (const auto known = find(words)) return *known;
  const RuleId rule = next();
  add_words(words, rule);
  return add(hash_of(words), {});
}

NumberedFde numbered(const sframe::Fde& fde, RuleTable& rules) {
  NumberedFde result{fde.start, fde.size, fde.signal_frame, fde.b_key, fde.pc_type, fde.repeat_size, fde.type, {}};
  result.fres.reserve(fde.fres.size());
  for (const sframe::Fre& fre : fde.fres) result.fres.push_back({fre.pc_offset, rules.intern(fre.recovery)});
  return result;
}

}  // namespace sframe_gen::emit
