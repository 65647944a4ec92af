#pragma once

#include <cstdint>
#include <vector>

namespace sframe_gen::verify {

struct PcRange {
  std::uint64_t begin, end;
};

/// Sorts, and joins what overlaps, touches, or has no more than `gap` bytes between.
std::vector<PcRange> merged(std::vector<PcRange> ranges, std::uint64_t gap = 0);

std::uint64_t total_bytes(const std::vector<PcRange>& merged_ranges);

/// The stretches of `whole` that no range of `part` covers. Both merged.
std::vector<PcRange> uncovered(const std::vector<PcRange>& whole, const std::vector<PcRange>& part);

}  // namespace sframe_gen::verify
