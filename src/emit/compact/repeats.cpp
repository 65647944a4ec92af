#include "emit/compact/repeats.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "support/hash.hpp"
#include "support/workers.hpp"

namespace sframe_gen::emit::compact {

namespace {

/// A place where a block begins.
struct Place {
  std::uint64_t hash;  ///< of the block
  std::uint32_t cut;   ///< counted in all runs
  std::uint32_t rows;  ///< of the block
};

/// The rows from a cut to the next that a block gains that ended at the cut.
struct NextRows {
  std::uint64_t hash;  ///< see RowHashes
  std::uint32_t rows;
};

/// Large files have one repeated block for two cuts, but a file can be made whose every cut begins as many as a
/// descriptor may have rows.
constexpr std::size_t most_blocks_per_place = 4, most_blocks_of_few_places = 256;

/// Finds the blocks that begin at a group of places.
class BlockFinder {
 public:
  /// `next`, `longest`: by cut.
  BlockFinder(std::uint32_t most_rows, std::size_t places, std::span<const NextRows> next,
              std::span<std::uint32_t> longest)
      : most_rows_(most_rows),
        most_blocks_(places * most_blocks_per_place + most_blocks_of_few_places),
        next_(next),
        longest_(longest) {}

  /// Finds the blocks of `cuts` cuts that repeat among `places`, where blocks with `head` begin, and all longer ones.
  /// Calls itself once for each cut of a block: less often than a descriptor has rows twice.
  void find(std::span<Place> places, std::uint32_t cuts, std::uint32_t head) {
    // Most places of a block go on alike.
    if (!std::ranges::is_sorted(places, {}, &Place::hash)) std::ranges::sort(places, {}, &Place::hash);
    for (auto begin = places.begin(), end = begin; begin != places.end(); begin = end) {
      end = std::find_if(begin, places.end(), [hash = begin->hash](const Place& place) { return place.hash != hash; });
      if (end - begin >= 2 && blocks.size() < most_blocks_) add({begin, end}, cuts, head);
    }
  }

  std::vector<RepeatedBlock> blocks;  ///< without their bytes; numbers count from 1

 private:
  /// Adds the block that begins at all these places.
  void add(std::span<Place> places, std::uint32_t cuts, std::uint32_t head) {
    blocks.push_back({head, cuts, static_cast<std::uint32_t>(places.size()), 0});
    const auto block = static_cast<std::uint32_t>(blocks.size());
    auto longer = places.begin();
    for (const Place& place : places) {
      longest_[place.cut] = block;
      const NextRows& next = next_[place.cut + cuts];
      const std::uint32_t rows = place.rows + next.rows;
      if (next.hash != 0 && rows <= most_rows_)
        *longer++ = {with_count(chained(place.hash, next.hash), rows), place.cut, rows};
    }
    find({places.begin(), longer}, cuts + 1, block);
  }

  std::uint32_t most_rows_;
  std::size_t most_blocks_;
  std::span<const NextRows> next_;
  std::span<std::uint32_t> longest_;
};

/// The places of all runs, in groups by the hash of the rows up to the next cut. Equal blocks are in one group.
class Groups {
 public:
  explicit Groups(std::span<const Run> runs) {
    std::size_t cuts = 0;
    for (const Run& run : runs) cuts += run.cuts.size();
    constexpr std::size_t places_per_group = 128;
    const auto bits = static_cast<unsigned>(std::bit_width(cuts / places_per_group)) + 1;
    shift_ = 64 - bits;
    ends_.resize(std::size_t{1} << bits);
    const auto for_each_place = [&](const auto& visit) {
      for (std::uint32_t cut = 0; const Run& run : runs) {
        for (std::size_t i = 0; i < run.cuts.size(); ++i, ++cut)
          if (run.hashes[i].next != 0) visit(Place{run.hashes[i].first, cut, run.cuts[i].row_count});
      }
    };
    for_each_place([&](const Place& place) { ++ends_[group_of(place.hash)]; });
    std::exclusive_scan(ends_.begin(), ends_.end(), ends_.begin(), 0U);
    places_.resize(cuts);
    for_each_place([&](const Place& place) { places_[ends_[group_of(place.hash)]++] = place; });
  }

  std::size_t size() const { return ends_.size(); }
  std::size_t group_of(std::uint64_t hash) const { return hash >> shift_; }
  std::span<Place> operator[](std::size_t group) {
    const std::uint32_t begin = group == 0 ? 0 : ends_[group - 1];
    return std::span(places_).subspan(begin, ends_[group] - begin);
  }

 private:
  unsigned shift_;
  std::vector<std::uint32_t> ends_;  ///< by group
  std::vector<Place> places_;
};

}  // namespace

std::vector<RepeatedBlock> find_repeated_blocks(std::span<Run> runs, const Dialect& dialect) {
  Groups groups(runs);
  std::vector<NextRows> next;
  for (const Run& run : runs)
    for (std::size_t i = 0; i < run.cuts.size(); ++i)
      next.push_back({run.hashes[i].next, run.cuts[i].row_count - (run.cuts[i].repeats ? 1U : 0U)});
  std::vector<std::uint32_t> longest(next.size());
  std::vector<std::vector<RepeatedBlock>> found(groups.size());
  parallel_for(groups.size(), workers_for(runs.size(), 2), [&](std::size_t i, std::size_t) {
    BlockFinder finder(dialect.compact_rows, groups[i].size(), next, longest);
    finder.find(groups[i], 1, no_block);
    found[i] = std::move(finder.blocks);
  });

  std::vector<std::uint32_t> shifts{0};
  for (const std::vector<RepeatedBlock>& of_group : found)
    shifts.push_back(shifts.back() + static_cast<std::uint32_t>(of_group.size()));
  std::vector<RepeatedBlock> blocks(1);
  blocks.reserve(shifts.back() + 1);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    for (RepeatedBlock block : std::exchange(found[i], {})) {  // frees memory while the other grows
      if (block.head != no_block) block.head += shifts[i];
      blocks.push_back(block);
    }
  }
  std::size_t cut = 0;
  for (Run& run : runs) {
    for (std::size_t i = 0; i < run.cuts.size(); ++i) {
      std::uint32_t block = longest[cut++];
      if (block == no_block) continue;
      block += shifts[groups.group_of(run.hashes[i].first)];
      run.repeated_blocks[i] = block;
      // One place tells how many bytes the block and its heads have.
      for (; blocks[block].bytes == 0 && block != no_block; block = blocks[block].head)
        blocks[block].bytes = attribute_size(dialect) + shape_of(run.cuts[i], run.cuts[i + blocks[block].cuts]).bytes;
    }
    std::exchange(run.hashes, {});  // frees memory: the rest has no use for them
  }
  return blocks;
}

}  // namespace sframe_gen::emit::compact
