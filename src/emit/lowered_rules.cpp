#include "emit/lowered_rules.hpp"

#include <algorithm>

#include "emit/default_form.hpp"

namespace sframe_gen::emit {

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

}  // namespace sframe_gen::emit
