#include "support/range.hpp"

#include <algorithm>

namespace sframe_gen {

RangeSet::RangeSet(std::vector<Range> ranges, std::uint64_t gap) {
  std::ranges::sort(ranges, {}, &Range::begin);
  for (const Range& range : ranges) {
    if (range.empty()) continue;
    const bool joins =
        !ranges_.empty() && (range.begin <= ranges_.back().end || range.begin - ranges_.back().end <= gap);
    if (!joins) ranges_.push_back(range);
    ranges_.back().end = std::max(ranges_.back().end, range.end);
  }
}

std::uint64_t RangeSet::size() const {
  std::uint64_t size = 0;
  for (const Range& range : ranges_) size += range.size();
  return size;
}

std::vector<Range>::const_iterator RangeSet::find(std::uint64_t number) const {
  return std::ranges::upper_bound(ranges_, number, {}, &Range::end);
}

RangeSet RangeSet::without(const RangeSet& other) const {
  RangeSet rest;
  for (const Range& range : ranges_) {
    std::uint64_t begin = range.begin;
    for (auto hole = other.find(begin); hole != other.end() && hole->begin < range.end; ++hole) {
      if (hole->begin > begin) rest.ranges_.push_back({begin, hole->begin});
      begin = hole->end;
    }
    if (begin < range.end) rest.ranges_.push_back({begin, range.end});
  }
  return rest;
}

}  // namespace sframe_gen
