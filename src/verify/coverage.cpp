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

namespace {

/// Calls back with each stretch of `whole` that no range of `part` covers.
template <typename Callback>
void for_each_uncovered(const std::vector<PcRange>& whole, const std::vector<PcRange>& part, Callback&& callback) {
  auto next = part.begin();
  for (const PcRange& range : whole) {
    std::uint64_t position = range.begin;
    while (next != part.end() && next->end <= position) ++next;
    for (auto it = next; it != part.end() && it->begin < range.end; ++it) {
      if (it->begin > position) callback(PcRange{position, it->begin});
      position = std::max(position, it->end);
    }
    if (position < range.end) callback(PcRange{position, range.end});
  }
}

}  // namespace

std::uint64_t uncovered_bytes(const std::vector<PcRange>& whole, const std::vector<PcRange>& part) {
  std::uint64_t bytes = 0;
  for_each_uncovered(whole, part, [&](const PcRange& range) { bytes += range.end - range.begin; });
  return bytes;
}

std::uint64_t count_uncovered(const std::vector<PcRange>& whole, const std::vector<PcRange>& part) {
  std::uint64_t count = 0;
  for_each_uncovered(whole, part, [&](const PcRange&) { ++count; });
  return count;
}

}  // namespace sframe_gen::verify
