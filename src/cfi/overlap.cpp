#include "cfi/overlap.hpp"

#include <algorithm>
#include <set>

namespace sframe_gen::cfi {

namespace {

/// The rules `function` gives for `pc`, or nothing outside it.
const Rules* rules_at(const FunctionFrames& function, std::uint64_t pc) {
  if (pc < function.start || pc - function.start >= function.size) return nullptr;
  const std::uint64_t pc_offset = pc - function.start;
  const auto after = std::upper_bound(function.rows.begin(), function.rows.end(), pc_offset,
                                      [](std::uint64_t offset, const FrameRow& row) { return offset < row.pc_offset; });
  return &std::prev(after)->rules;
}

}  // namespace

FunctionFrames merge_overlapping(const std::vector<FunctionFrames>& functions) {
  FunctionFrames merged;
  merged.start = functions.front().start;
  merged.signal_frame = functions.front().signal_frame;
  merged.b_key = functions.front().b_key;
  std::set<std::uint64_t> boundaries;
  for (const FunctionFrames& function : functions) {
    merged.size = std::max(merged.size, function.start + function.size - merged.start);
    boundaries.insert(function.start + function.size);
    for (const FrameRow& row : function.rows) boundaries.insert(function.start + row.pc_offset);
  }
  const bool mixed = std::any_of(functions.begin(), functions.end(), [&](const FunctionFrames& f) {
    return f.signal_frame != merged.signal_frame || f.b_key != merged.b_key;
  });
  for (const std::uint64_t pc : boundaries) {
    if (pc - merged.start >= merged.size) continue;
    const Rules* agreed = nullptr;
    bool conflict = mixed;
    for (const FunctionFrames& function : functions) {
      const Rules* const rules = rules_at(function, pc);
      if (rules == nullptr) continue;
      if (agreed == nullptr) agreed = rules;
      conflict = conflict || *agreed != *rules;
    }
    const Rules rules = conflict ? Rules{UnknownReason::ConflictingFdes, {}, {}, {}} : *agreed;
    if (merged.rows.empty() || merged.rows.back().rules != rules) merged.rows.push_back({pc - merged.start, rules});
  }
  return merged;
}

}  // namespace sframe_gen::cfi
