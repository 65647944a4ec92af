#include "emit/compact/repeated_blocks.hpp"

#include <algorithm>

#include "support/in_parallel.hpp"

namespace sframe_gen::emit::compact {

RepeatedBlocks::RepeatedBlocks(const Sequence& sequence, const RowHashes& hashes, const BlockSizes& sizes,
                               std::uint32_t most_rows)
    : places_(sequence.cuts.size()) {
  constexpr std::size_t cuts_per_worker = 4096;
  const std::size_t workers = workers_for(sequence.cuts.size(), cuts_per_worker);
  const SingleRows singles(sequence, hashes, sizes);
  const CutGroups groups(sequence, hashes, singles);
  std::vector<BlockFinder> finders(workers, BlockFinder(hashes, sizes, most_rows, singles));
  std::vector<GroupFound> all(groups.size());
  for_each_in_parallel(groups.size(), workers, [&](std::size_t i, std::size_t worker) {
    BlockFinder& finder = finders[worker];
    all[i] = finder.find(groups[i]);
    all[i].worker = worker;
    for (std::size_t cut = 0; cut < groups[i].size(); ++cut) places_[groups[i][cut].cut].count = finder.counts()[cut];
  });

  // Identifiers follow from the groups, not from who found them when.
  std::vector<Base> bases;
  const std::uint32_t single_count = singles.findings().size();
  Base sum{0, single_count};
  for (const GroupFound& group : all) {
    bases.push_back(sum);
    sum.block += group.blocks;
    sum.identifier += group.identifiers;
  }
  blocks_.resize(sum.block);
  occurrences_ = singles.findings().occurrences;
  occurrences_.resize(sum.identifier);
  bytes_ = singles.findings().bytes;
  bytes_.resize(sum.identifier);
  for_each_in_parallel(groups.size(), workers, [&](std::size_t i, std::size_t) {
    take(groups[i], all[i], finders[all[i].worker].found(), single_count, bases[i]);
  });
}

/// Where identifiers below `singles` are everybody's.
void RepeatedBlocks::take(std::span<const CutStart> starts, const GroupFound& group, const FoundBlocks& found,
                          Id singles, Base base) {
  const Id shift = base.identifier - singles - group.first_identifier;
  std::ranges::transform(std::span(found.blocks).subspan(group.first_block, group.blocks), blocks_.begin() + base.block,
                         [&](Id block) { return block < singles ? block : block + shift; });
  for (const CutStart& start : starts) {
    places_[start.cut].first = base.block;
    base.block += places_[start.cut].count;
  }
  const auto of_group = [&](const std::vector<std::uint32_t>& all) {
    return std::span(all).subspan(group.first_identifier, group.identifiers);
  };
  std::ranges::copy(of_group(found.findings.occurrences), occurrences_.begin() + base.identifier);
  std::ranges::copy(of_group(found.findings.bytes), bytes_.begin() + base.identifier);
}

}  // namespace sframe_gen::emit::compact
