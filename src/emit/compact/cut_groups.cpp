#include "emit/compact/cut_groups.hpp"

#include <numeric>

namespace sframe_gen::emit::compact {

CutGroups::CutGroups(const Sequence& sequence, const RowHashes& hashes, const SingleRows& singles)
    : starts_(sequence.cuts.size()) {
  constexpr std::uint32_t cuts_per_group = 1024;
  const auto cuts = static_cast<std::uint32_t>(sequence.cuts.size());
  unsigned bits = 0;
  while (bits < RowHashes::group_bits && cuts >> bits > cuts_per_group) ++bits;
  const unsigned dropped = RowHashes::group_bits - bits;
  ends_.resize(std::size_t{1} << bits);
  for (std::uint32_t cut = 0; cut < cuts; ++cut) ++ends_[hashes.group(cut) >> dropped];
  std::exclusive_scan(ends_.begin(), ends_.end(), ends_.begin(), 0U);
  for (std::size_t run = 0; run < sequence.runs.size(); ++run) {
    const std::uint32_t end_of_run = sequence.end_of_cuts(run);
    for (std::uint32_t cut = sequence.runs[run].first_cut; cut < end_of_run; ++cut) {
      CutStart& start = starts_[ends_[hashes.group(cut) >> dropped]++];
      start = {hashes.begin(cut), cut, end_of_run, SingleRows::none};
      if (hashes.rows(start.begin, cut + 1) != 1) continue;
      start.single = singles.at(sequence, run, cut);
      if (start.single == SingleRows::none) start.single = lonely;
    }
  }
}

}  // namespace sframe_gen::emit::compact
