#include "emit/compact/repeated_blocks.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "emit/compact/hash_numbers.hpp"
#include "support/hash.hpp"

namespace sframe_gen::emit::compact {

namespace {

/// A block that begins at a cut and may yet grow.
struct Growing {
  std::uint32_t cut;
  std::uint32_t run;
  std::uint32_t next_cut;     ///< the block ends there
  std::uint32_t last_offset;  ///< of its last row
  std::uint32_t rows;
  RepeatedBlocks::Id block;
  std::uint64_t hash;
};

/// A block that occurs elsewhere too.
struct Place {
  std::uint32_t cut;
  RepeatedBlocks::Id block;
};

class Finder {
 public:
  Finder(const Sequence& sequence, std::uint32_t most_rows)
      : sequence_(sequence), most_rows_(most_rows), numbers_(sequence.cuts.size()) {}

  /// By length, and then by cut.
  std::vector<std::vector<Place>> find(std::vector<std::uint32_t>& occurrences) {
    std::vector<std::vector<Place>> places;
    std::vector<Growing> growing = shortest(occurrences);
    while (!growing.empty()) {
      std::erase_if(growing, [&](const Growing& block) { return occurrences[block.block] < 2; });
      if (growing.empty()) break;
      auto& found = places.emplace_back();
      found.reserve(growing.size());
      for (const Growing& block : growing) found.push_back({block.cut, block.block});
      grow(growing, occurrences);
    }
    return places;
  }

 private:
  void number(Growing& block, std::vector<std::uint32_t>& occurrences) {
    // The hash stands for the contents: two blocks with one hash would only be priced wrongly, for what is stored is
    // compared byte by byte.
    const auto is_it = [](std::uint32_t) { return true; };
    block.block = numbers_.find_or_add(block.hash, static_cast<std::uint32_t>(occurrences.size()), is_it);
    if (block.block == occurrences.size()) occurrences.push_back(0);
    ++occurrences[block.block];
  }

  std::vector<Growing> shortest(std::vector<std::uint32_t>& occurrences) {
    std::vector<Growing> blocks;
    blocks.reserve(sequence_.cuts.size());
    for (std::uint32_t run = 0; run < sequence_.runs.size(); ++run) {
      const Run& properties = sequence_.runs[run];
      const std::uint64_t seed = (properties.signal_frame ? 2U : 0U) + (properties.b_key ? 1U : 0U);
      for (std::uint32_t cut = properties.first_cut; cut < sequence_.end_of_cuts(run); ++cut) {
        Growing block{cut, run, cut, sequence_.offset_of(cut), 0, 0, seed};
        take_rows(block, sequence_.cuts[cut].row);
        number(block, occurrences);
        blocks.push_back(block);
      }
    }
    return blocks;
  }

  /// Adds the rows up to the next cut.
  void take_rows(Growing& block, std::uint32_t row) const {
    const std::uint32_t end = sequence_.end_of_rows(block.next_cut);
    for (; row < end; ++row) {
      const Row& taken = sequence_.rows[row];
      block.hash = chained(block.hash, std::uint64_t{taken.offset - block.last_offset} << 32U | taken.rule);
      block.last_offset = taken.offset;
      ++block.rows;
    }
    ++block.next_cut;
  }

  void grow(std::vector<Growing>& blocks, std::vector<std::uint32_t>& occurrences) {
    std::erase_if(blocks, [&](Growing& block) { return !grow(block, occurrences); });
  }

  bool grow(Growing& block, std::vector<std::uint32_t>& occurrences) {
    if (block.next_cut == sequence_.end_of_cuts(block.run)) return false;
    const Cut& cut = sequence_.cuts[block.next_cut];
    const std::uint32_t first = cut.row + (cut.repeats ? 1 : 0);
    const std::uint32_t added = sequence_.end_of_rows(block.next_cut) - first;
    if (block.rows + added > most_rows_) return false;
    take_rows(block, first);
    // A function that says nothing new leaves the block what it was.
    if (added != 0) number(block, occurrences);
    return true;
  }

  const Sequence& sequence_;
  std::uint32_t most_rows_;
  HashNumbers numbers_;
};

}  // namespace

RepeatedBlocks::RepeatedBlocks(const Sequence& sequence, std::uint32_t most_rows) {
  const std::vector<std::vector<Place>> by_length = Finder(sequence, most_rows).find(occurrences_);
  first_.resize(sequence.cuts.size() + 1);
  for (const std::vector<Place>& places : by_length)
    for (const Place& place : places) ++first_[place.cut + 1];
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  blocks_.resize(first_.back());
  std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
  for (const std::vector<Place>& places : by_length)
    for (const Place& place : places) blocks_[next[place.cut]++] = place.block;
}

}  // namespace sframe_gen::emit::compact
