#include "emit/compact/repeats.hpp"

#include <algorithm>

#include "support/hash.hpp"
#include "support/workers.hpp"

namespace sframe_gen::emit::compact {

namespace {

/// A place where a block begins.
struct Place {
  Cut* cut;
  std::uint64_t hash;  ///< of the block
};

class BlockFinder {
 public:
  explicit BlockFinder(const Dialect& dialect)
      : most_rows_(dialect.compact_rows), attribute_(attribute_size(dialect)) {}

  /// Finds the blocks of `cuts` cuts that repeat among `places`, where blocks with `head` begin, and all longer ones.
  /// Calls itself once for each cut of a block: less often than a descriptor has rows twice.
  void find(std::span<Place> places, std::uint32_t cuts, std::uint32_t head) {
    // Most places of a block go on alike.
    if (!std::ranges::is_sorted(places, {}, &Place::hash)) std::ranges::sort(places, {}, &Place::hash);
    for (auto begin = places.begin(), end = begin; begin != places.end(); begin = end) {
      end = std::ranges::find_if(begin, places.end(), [&](const Place& place) { return place.hash != begin->hash; });
      if (end - begin >= 2) add({begin, end}, cuts, head);
    }
  }

  std::vector<RepeatedBlock> blocks{1};

 private:
  /// Adds the block that begins at all these places.
  void add(std::span<Place> places, std::uint32_t cuts, std::uint32_t head) {
    const auto block = static_cast<std::uint32_t>(blocks.size());
    const Cut* const first = places.front().cut;
    blocks.push_back(
        {head, cuts, static_cast<std::uint32_t>(places.size()), attribute_ + shape_of(first[0], first[cuts]).bytes});
    auto longer = places.begin();
    for (const Place& place : places) {
      place.cut->repeated_block = block;
      const Cut* const end = place.cut + cuts;
      if (end->rows != nullptr && rows_between(*place.cut, end[1]) <= most_rows_)
        *longer++ = {place.cut, chained(place.hash, end->next_hash)};
    }
    find({places.begin(), longer}, cuts + 1, block);
  }

  std::uint32_t most_rows_, attribute_;
};

}  // namespace

std::vector<RepeatedBlock> find_repeated_blocks(std::span<Run> runs, const Dialect& dialect) {
  // Equal blocks are in one group.
  constexpr std::size_t groups = 256;
  std::vector<std::vector<Place>> places(groups);
  for (Run& run : runs)
    for (Cut& cut : run.cuts)
      if (cut.rows != nullptr) places[cut.first_hash % groups].push_back({&cut, cut.first_hash});
  std::vector<BlockFinder> finders(groups, BlockFinder(dialect));
  parallel_for(groups, workers_for(runs.size(), 2),
               [&](std::size_t i, std::size_t) { finders[i].find(places[i], 1, no_block); });

  std::vector<RepeatedBlock> blocks(1);
  std::vector<std::uint32_t> shifts;
  for (const BlockFinder& finder : finders) {
    const auto shift = static_cast<std::uint32_t>(blocks.size() - 1);
    shifts.push_back(shift);
    for (RepeatedBlock block : std::span(finder.blocks).subspan(1)) {
      if (block.head != no_block) block.head += shift;
      blocks.push_back(block);
    }
  }
  for (Run& run : runs)
    for (Cut& cut : run.cuts)
      if (cut.repeated_block != no_block) cut.repeated_block += shifts[cut.first_hash % groups];
  return blocks;
}

}  // namespace sframe_gen::emit::compact
