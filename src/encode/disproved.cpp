#include "encode/disproved.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace sframe_gen::encode {

cfi::Function without_disproved(const cfi::Function& function, const RangeSet& disproved, cfi::RuleTable& rules) {
  if (function.repeat_size != 0 || !disproved.overlaps({function.start, function.end()})) return function;
  cfi::Function rest = function;
  rest.rows.clear();
  const cfi::RuleId none = rules.intern(cfi::unknown_rules(cfi::UnknownReason::ContradictedByCode));
  const auto add = [&](std::uint64_t pc, cfi::RuleId rule) {
    if (rest.rows.empty() || rest.rows.back().rule != rule)
      rest.rows.push_back({static_cast<std::uint32_t>(pc - function.start), rule});
  };
  for (auto row = function.rows.begin(); row != function.rows.end(); ++row) {
    std::uint64_t pc = function.start + row->pc_offset;
    const std::uint64_t end =
        std::next(row) == function.rows.end() ? function.end() : function.start + std::next(row)->pc_offset;
    for (auto wrong = disproved.find(pc); pc < end; ++wrong) {
      const bool is_last = wrong == disproved.end() || wrong->begin >= end;
      if (is_last || pc < wrong->begin) add(pc, row->rule);
      if (is_last) break;
      add(std::max(pc, wrong->begin), none);
      pc = wrong->end;
    }
  }
  return rest;
}

}  // namespace sframe_gen::encode
