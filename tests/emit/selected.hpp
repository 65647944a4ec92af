#pragma once

#include <variant>
#include <vector>

#include "cfi/spelled.hpp"
#include "emit/lower.hpp"
#include "emit/split_functions.hpp"

namespace sframe_gen::test {

/// What becomes of one function, spelled out.
struct Spelled {
  std::vector<sframe::Fde> fdes;
  std::vector<Hole> holes;
};

inline sframe::Fde spelled(const emit::NumberedFde& fde, const emit::RuleTable& rules) {
  sframe::Fde result{fde.start, fde.size, fde.signal_frame, fde.b_key, fde.pc_type, fde.repeat_size, fde.type, {}};
  for (const cfi::Row& row : fde.fres) {
    const emit::Lowered lowered = emit::lower(rules[row.rule], rules.dialect());
    const auto* const recovery = std::get_if<sframe::RecoveryRules>(&lowered);
    result.fres.push_back({row.pc_offset, recovery != nullptr ? std::optional(*recovery) : std::nullopt});
  }
  return result;
}

inline Spelled select(const SpelledFunction& function, const emit::Dialect& dialect) {
  emit::RuleTable rules(dialect);
  emit::SplitFunction split;
  emit::split_function(interned(function, rules), rules, split);
  Spelled result{{}, split.holes};
  for (const emit::NumberedFde& fde : split.fdes) result.fdes.push_back(spelled(fde, rules));
  return result;
}

}  // namespace sframe_gen::test
