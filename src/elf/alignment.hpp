#pragma once

#include <algorithm>
#include <cstdint>

namespace sframe_gen::elf {

/// Every file-controlled number is below this once `check_preconditions` has passed, so that sums of a few of them
/// cannot wrap. User space addresses end at 2^47 (2^56 with five-level paging).
inline constexpr std::uint64_t largest_number = std::uint64_t{1} << 60;

/// `alignment` is 0 (taken as 1) or a power of two.
constexpr std::uint64_t align_down(std::uint64_t value, std::uint64_t alignment) {
  return value & ~(std::max<std::uint64_t>(alignment, 1) - 1);
}

constexpr std::uint64_t align_up(std::uint64_t value, std::uint64_t alignment) {
  return align_down(value + std::max<std::uint64_t>(alignment, 1) - 1, alignment);
}

constexpr bool is_power_of_two_or_zero(std::uint64_t value) {
  return (value & (value - 1)) == 0;
}

/// Bytes [begin, end) of a file.
struct FileRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  constexpr bool empty() const { return begin >= end; }
  constexpr bool overlaps(const FileRange& other) const { return begin < other.end && other.begin < end; }
  constexpr bool contains(const FileRange& other) const { return begin <= other.begin && other.end <= end; }
  friend bool operator==(const FileRange&, const FileRange&) = default;
};

}  // namespace sframe_gen::elf
