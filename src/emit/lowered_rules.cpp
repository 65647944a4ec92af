#include "emit/lowered_rules.hpp"

#include <algorithm>

#include "emit/default_form.hpp"

namespace sframe_gen::emit {

void LoweredRules::work_out(cfi::RuleNumber number) {
  const auto index = static_cast<std::size_t>(number);
  if (index >= entries_.size()) entries_.resize(std::max(index + 1, rules_.size()));
  Entry& entry = entries_[index];
  entry.lowered = emit::lower(rules_[number], dialect_);
  if (const auto* const recovery = std::get_if<sframe::RecoveryRules>(&entry.lowered)) {
    entry.is_row = true;
    entry.rule = table_.id_of(*recovery);
    entry.fits_default = !obstacle_to_default(*recovery, dialect_);
  } else if (std::holds_alternative<Outermost>(entry.lowered)) {
    entry.is_row = true;
    entry.rule = table_.id_of(std::nullopt);
  }
  entry.is_known = true;
}

void LoweredRules::keep_up_with_generation() {
  if (generation_ == rules_.generation()) return;
  generation_ = rules_.generation();
  entries_.clear();
  table_.clear();
}

}  // namespace sframe_gen::emit
