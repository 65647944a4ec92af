#include "emit/compact/cut_groups.hpp"

#include "support/in_parallel.hpp"

namespace sframe_gen::emit::compact {

CutGroups::CutGroups(const Sequence& sequence, const RowHashes& hashes, const SingleRows& singles, std::size_t workers)
    : starts_(std::make_unique_for_overwrite<CutStart[]>(sequence.cuts.size())) {
  constexpr std::uint32_t cuts_per_group = 1024;
  unsigned bits = 0;
  while (bits < RowHashes::group_bits && sequence.cuts.size() >> bits > cuts_per_group) ++bits;
  const unsigned dropped = RowHashes::group_bits - bits;
  ends_.resize(std::size_t{1} << bits);
  const std::vector<Stretch> stretches = stretches_of(sequence);
  // By stretch, and then by group: how many cuts, and then where they go.
  std::vector<std::uint32_t> next(stretches.size() << bits);
  for_each_in_parallel(stretches.size(), workers, [&](std::size_t i, std::size_t) {
    for (std::uint32_t cut = stretches[i].begin; cut < stretches[i].end; ++cut)
      ++next[(i << bits) + (hashes.group(cut) >> dropped)];
  });
  std::uint32_t sum = 0;
  for (std::size_t group = 0; group < ends_.size(); ++group) {
    for (std::size_t i = 0; i < stretches.size(); ++i) {
      std::uint32_t& place = next[(i << bits) + group];
      const std::uint32_t cuts = place;
      place = sum;
      sum += cuts;
    }
    ends_[group] = sum;
  }
  for_each_in_parallel(stretches.size(), workers, [&](std::size_t i, std::size_t) {
    const Stretch& stretch = stretches[i];
    for (std::uint32_t cut = stretch.begin; cut < stretch.end; ++cut) {
      const RowHashes::Begin& begin = hashes.begin(cut);
      std::uint32_t single = SingleRows::none;
      if (hashes.rows(begin, cut + 1) == 1) {
        single = singles.at(sequence, stretch.run, cut);
        if (single == SingleRows::none) single = lonely;
      }
      starts_[next[(i << bits) + (hashes.group(cut) >> dropped)]++] = {begin, stretch.end, single};
    }
  });
}

}  // namespace sframe_gen::emit::compact
