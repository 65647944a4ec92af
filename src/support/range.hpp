#pragma once

#include <cstdint>
#include <vector>

namespace sframe_gen {

/// Numbers from `begin` to the one before `end`: addresses, or offsets in a file.
struct Range {
  std::uint64_t begin = 0, end = 0;

  constexpr bool empty() const { return begin >= end; }
  constexpr std::uint64_t size() const { return empty() ? 0 : end - begin; }
  constexpr bool contains(std::uint64_t number) const { return begin <= number && number < end; }
  constexpr bool contains(const Range& other) const { return begin <= other.begin && other.end <= end; }
  constexpr bool overlaps(const Range& other) const { return begin < other.end && other.begin < end; }
  friend bool operator==(const Range&, const Range&) = default;
};

/// Ranges that are ascending and disjoint; none is empty, and no two touch.
class RangeSet {
 public:
  RangeSet() = default;
  /// Joins what overlaps, touches, or has at most `gap` numbers between.
  explicit RangeSet(std::vector<Range> ranges, std::uint64_t gap = 0);

  auto begin() const { return ranges_.begin(); }
  auto end() const { return ranges_.end(); }
  bool empty() const { return ranges_.empty(); }
  const std::vector<Range>& ranges() const { return ranges_; }
  /// How many numbers are in it.
  std::uint64_t size() const;
  /// The first range that ends after `number`, whether it contains it or not.
  std::vector<Range>::const_iterator find(std::uint64_t number) const;

  /// Whether one of its ranges shares a number with `range`.
  bool overlaps(const Range& range) const {
    const auto first = find(range.begin);
    return !range.empty() && first != ranges_.end() && first->begin < range.end;
  }

  RangeSet without(const RangeSet& other) const;

 private:
  std::vector<Range> ranges_;
};

}  // namespace sframe_gen
