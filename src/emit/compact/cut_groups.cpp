#include "emit/compact/cut_groups.hpp"

#include <algorithm>

#include "support/workers.hpp"

namespace sframe_gen::emit::compact {

CutGroups::CutGroups(std::span<const Stretch> stretches, const PartHashes& hashes, std::size_t workers) {
  constexpr std::uint32_t cuts_per_group = 1024, cuts_per_slice = 8192;
  const std::uint32_t cuts = stretches.empty() ? 0 : stretches.back().end;
  starts_ = std::make_unique_for_overwrite<CutStart[]>(cuts);
  unsigned bits = 0;
  while (bits < PartHashes::group_bits && cuts >> bits > cuts_per_group) ++bits;
  const unsigned dropped = PartHashes::group_bits - bits;
  ends_.resize(std::size_t{1} << bits);
  // By slice, and then by group: how many cuts, and then where they go.
  const std::size_t slices = (cuts + cuts_per_slice - 1) / cuts_per_slice;
  std::vector<std::uint32_t> next(slices << bits);
  const auto for_each_root = [&](const auto& visit) {
    parallel_for(slices, workers, [&](std::size_t slice, std::size_t) {
      const auto begin = static_cast<std::uint32_t>(slice * cuts_per_slice);
      for (std::uint32_t cut = begin; cut < std::min(cuts, begin + cuts_per_slice); ++cut) {
        const PartHashes::Root root = hashes.root(cut);
        if (root.value != PartHashes::Root::none)
          visit(next[(slice << bits) + (hashes.group(cut) >> dropped)], CutStart{cut, root});
      }
    });
  };
  for_each_root([](std::uint32_t& count, const CutStart&) { ++count; });
  std::uint32_t sum = 0;
  for (std::size_t group = 0; group < ends_.size(); ++group) {
    for (std::size_t slice = 0; slice < slices; ++slice) {
      std::uint32_t& place = next[(slice << bits) + group];
      const std::uint32_t own = place;
      place = sum;
      sum += own;
    }
    ends_[group] = sum;
  }
  for_each_root([this](std::uint32_t& place, const CutStart& start) { starts_[place++] = start; });
}

}  // namespace sframe_gen::emit::compact
