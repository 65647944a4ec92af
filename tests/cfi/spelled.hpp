#pragma once

#include <cstdint>
#include <vector>

#include "cfi/rules.hpp"

/// Functions with their rules in place of numbers, as tests write and compare them.
namespace sframe_gen::test {

struct SpelledRow {
  std::uint64_t pc_offset = 0;
  cfi::Rules rules;
  friend bool operator==(const SpelledRow&, const SpelledRow&) = default;
};

struct SpelledFunction {
  std::uint64_t start = 0;
  std::uint64_t size = 0;
  bool signal_frame = false;
  std::vector<SpelledRow> rows;
  bool b_key = false;
  std::uint8_t repeat_size = 0;
  friend bool operator==(const SpelledFunction&, const SpelledFunction&) = default;
};

inline std::vector<SpelledRow> spelled(const std::vector<cfi::Row>& rows, const cfi::RuleTable& rules) {
  std::vector<SpelledRow> result;
  for (const cfi::Row& row : rows) result.push_back({row.pc_offset, rules[row.rule]});
  return result;
}

inline SpelledFunction spelled(const cfi::Function& function, const cfi::RuleTable& rules) {
  return {function.start, function.size,       function.signal_frame, spelled(function.rows, rules),
          function.b_key, function.repeat_size};
}

inline cfi::Function interned(const SpelledFunction& function, cfi::RuleTable& rules) {
  cfi::Function result{function.start, function.size, function.signal_frame, {}, function.b_key, function.repeat_size};
  for (const SpelledRow& row : function.rows)
    result.rows.push_back({static_cast<std::uint32_t>(row.pc_offset), rules.intern(row.rules)});
  return result;
}

}  // namespace sframe_gen::test
