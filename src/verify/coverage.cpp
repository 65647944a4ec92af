#include "verify/coverage.hpp"

#include <algorithm>

namespace sframe_gen::verify {

std::vector<PcRange> merged(std::vector<PcRange> ranges, std::uint64_t gap) {
  std::sort(ranges.begin(), ranges.end(), [](const PcRange& a, const PcRange& b) { return a.begin < b.begin; });
  std::vector<PcRange> result;
  for (const PcRange& range : ranges) {
    if (range.begin >= range.end) continue;
    const bool follows = !result.empty() && range.begin > result.back().end;
    if (!result.empty() && (!follows || range.begin - result.back().end <= gap)) {
      result.back().end = std::max(result.back().end, range.end);
    } else {
      result.push_back(range);
    }
  }
  return result;
}

std::uint64_t total_bytes(const std::vector<PcRange>& merged_ranges) {
  std::uint64_t bytes = 0;
  for (const PcRange& range : merged_ranges) bytes += range.end - range.begin;
  return bytes;
}

std::vector<PcRange> uncovered(const std::vector<PcRange>& whole, const std::vector<PcRange>& part) {
  std::vector<PcRange> stretches;
  auto next = part.begin();
  for (const PcRange& range : whole) {
    std::uint64_t position = range.begin;
    while (next != part.end() && next->end <= position) ++next;
    for (auto it = next; it != part.end() && it->begin < range.end; ++it) {
      if (it->begin > position) stretches.push_back({position, it->begin});
      position = std::max(position, it->end);
    }
    if (position < range.end) stretches.push_back({position, range.end});
  }
  return stretches;
}

}  // namespace sframe_gen::verify
