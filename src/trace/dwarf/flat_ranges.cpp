#include "trace/dwarf/flat_ranges.hpp"

#include <algorithm>
#include <queue>

namespace sframe_gen::trace::dwarf {

FlatRanges::FlatRanges(std::vector<OwnedRange> ranges) {
  std::erase_if(ranges, [](const OwnedRange& range) { return range.begin >= range.end; });
  std::ranges::sort(ranges, {}, &OwnedRange::begin);
  std::vector<std::uint64_t> borders;
  borders.reserve(2 * ranges.size());
  for (const OwnedRange& range : ranges) borders.insert(borders.end(), {range.begin, range.end});
  std::ranges::sort(borders);
  borders.erase(std::unique(borders.begin(), borders.end()), borders.end());

  const auto is_lower = [](const OwnedRange& a, const OwnedRange& b) { return a.owner < b.owner; };
  std::priority_queue<OwnedRange, std::vector<OwnedRange>, decltype(is_lower)> open(is_lower);
  auto next = ranges.begin();
  for (const std::uint64_t border : borders) {
    for (; next != ranges.end() && next->begin == border; ++next) open.push(*next);
    while (!open.empty() && open.top().end <= border) open.pop();
    const std::uint32_t owner = open.empty() ? none : open.top().owner;
    if (parts_.empty() || parts_.back().owner != owner) parts_.push_back({border, owner});
  }
}

std::uint32_t FlatRanges::owner_at(std::uint64_t address) const {
  const auto after = std::ranges::upper_bound(parts_, address, {}, &Part::begin);
  return after == parts_.begin() ? none : std::prev(after)->owner;
}

}  // namespace sframe_gen::trace::dwarf
