#pragma once

#include <map>
#include <optional>
#include <variant>
#include <vector>

#include "cfi/spelled.hpp"
#include "emit/dialect.hpp"
#include "emit/split_functions.hpp"

namespace sframe_gen::test {

/// What becomes of one function, spelled out.
struct Spelled {
  std::vector<sframe::Fde> fdes;
  std::vector<CoverageHole> holes;
};

inline Spelled select(const SpelledFunction& function, const emit::Dialect& dialect) {
  cfi::RuleTable rules;
  emit::EncodedRules encoded_rules(dialect);
  emit::RuleTranslations translations(rules, encoded_rules);
  std::map<emit::EncodedRuleId, std::optional<sframe::RecoveryRules>> by_rule;
  const auto spell = [&](const std::optional<sframe::RecoveryRules>& recovery) {
    by_rule.emplace(encoded_rules.intern(recovery), recovery);
  };
  for (const SpelledRow& row : function.rows) {
    const emit::Representation represented = emit::represent(row.rules, dialect);
    if (const auto* const recovery = std::get_if<sframe::RecoveryRules>(&represented)) spell(*recovery);
    if (std::holds_alternative<emit::Outermost>(represented)) spell(std::nullopt);
    if (const auto* const plt = std::get_if<emit::PltEntries>(&represented)) {
      spell(plt->before);
      spell(plt->after);
    }
  }
  emit::SplitFunction split;
  emit::split_function(interned(function, rules), translations, split);
  Spelled result{{}, split.holes};
  for (const emit::FdeRows& fde : split.fdes) {
    result.fdes.push_back(
        {fde.start, fde.size, fde.signal_frame, fde.b_key, fde.pc_type, fde.repeat_size, fde.type, {}});
    for (const emit::EncodedRow& row : fde.rows)
      result.fdes.back().fres.push_back({row.pc_offset, by_rule.at(row.rule)});
  }
  return result;
}

}  // namespace sframe_gen::test
