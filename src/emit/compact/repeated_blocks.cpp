#include "emit/compact/repeated_blocks.hpp"

#include <utility>

#include "support/in_parallel.hpp"

namespace sframe_gen::emit::compact {

RepeatedBlocks::RepeatedBlocks(const Sequence& sequence, const RowHashes& hashes, const BlockSizes& sizes,
                               std::uint32_t most_rows)
    : places_(sequence.cuts.size()) {
  constexpr std::size_t cuts_per_worker = 4096;
  const std::size_t workers = workers_for(sequence.cuts.size(), cuts_per_worker);
  const SingleRows singles(sequence, hashes, sizes, workers);
  const CutGroups groups(sequence, hashes, singles, workers);
  // What grows in a thread would be copied, and take pages of that thread's own.
  constexpr std::size_t blocks_per_cut = 6;
  std::vector<BlockFinder> finders;
  finders.reserve(workers);
  for (std::size_t worker = 0; worker < workers; ++worker)
    finders.emplace_back(hashes, sizes, most_rows, singles, sequence.cuts.size() * blocks_per_cut / workers);
  std::vector<GroupFound> all(groups.size());
  for_each_in_parallel(groups.size(), workers, [&](std::size_t i, std::size_t worker) {
    all[i] = finders[worker].find(groups[i]);
    all[i].worker = worker;
  });

  // Identifiers follow from the groups, not from who found them when.
  std::vector<Findings> findings;
  std::vector<std::vector<std::uint16_t>> counts;
  for (BlockFinder& finder : finders) {
    FoundBlocks found = finder.release();
    blocks_.push_back(std::move(found.blocks));
    counts.push_back(std::move(found.counts));
    findings.push_back(std::move(found.findings));
  }
  const std::uint32_t single_count = singles.findings().size();
  occurrences_ = singles.findings().occurrences;
  bytes_ = singles.findings().bytes;
  std::vector<Id> bases;
  for (const GroupFound& group : all) {
    bases.push_back(static_cast<Id>(bytes_.size()));
    const auto append = [&](std::vector<std::uint32_t>& to, const std::vector<std::uint32_t>& from) {
      const auto of_group = std::span(from).subspan(group.first_identifier, group.identifiers);
      to.insert(to.end(), of_group.begin(), of_group.end());
    };
    append(occurrences_, findings[group.worker].occurrences);
    append(bytes_, findings[group.worker].bytes);
  }
  for_each_in_parallel(groups.size(), workers, [&](std::size_t i, std::size_t) {
    take(groups[i], std::span(counts[all[i].worker]).subspan(all[i].first_count), all[i], single_count, bases[i]);
  });
}

/// Identifiers below `singles` are everybody's; the group's other ones become those from `base` on.
void RepeatedBlocks::take(std::span<const CutStart> starts, std::span<const std::uint16_t> counts,
                          const GroupFound& group, Id singles, Id base) {
  const Id shift = base - singles - group.first_identifier;
  std::uint32_t first = group.first_block;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    places_[starts[i].begin.cut] = {first, counts[i], static_cast<std::uint16_t>(group.worker)};
    first += counts[i];
  }
  for (Id& block : std::span(blocks_[group.worker]).subspan(group.first_block, first - group.first_block))
    block += block < singles ? 0 : shift;
}

}  // namespace sframe_gen::emit::compact
