#include "emit/compact/repeated_blocks.hpp"

#include <numeric>

#include "emit/compact/hash_numbers.hpp"
#include "emit/compact/row_hashes.hpp"

namespace sframe_gen::emit::compact {

namespace {

/// A block that begins at a cut, or all that occur elsewhere too.
struct Place {
  std::uint32_t cut;
  std::uint32_t block;  ///< a number of Finder's; of what is found, an identifier
};

class Finder {
 public:
  Finder(const Sequence& sequence, const BlockSizes& sizes, std::uint32_t most_rows)
      : sequence_(sequence),
        sizes_(sizes),
        most_rows_(most_rows),
        hashes_(sequence, most_rows),
        numbers_(sequence.cuts.size()) {}

  /// By length, counted in cuts, and then by cut.
  std::vector<std::vector<Place>> find() {
    std::vector<std::vector<Place>> places;
    std::vector<Place> growing = shortest();
    for (std::uint32_t length = 1; !growing.empty(); ++length) {
      number(growing);
      keep_repeating(growing, places.emplace_back());
      grow(growing, length);
    }
    return places;
  }

  /// By identifier.
  std::vector<std::uint32_t> occurrences() const {
    std::vector<std::uint32_t> occurrences(identifiers_);
    for (const Known& block : known_)
      if (block.identifier != none) occurrences[block.identifier] = block.occurrences;
    return occurrences;
  }

 private:
  static constexpr std::uint32_t none = UINT32_MAX;
  struct Known {
    std::uint32_t occurrences = 0;
    std::uint32_t identifier = none;  ///< of those that occur more than once
  };

  std::vector<Place> shortest() {
    std::vector<Place> blocks(sequence_.cuts.size());
    new_hashes_.resize(blocks.size());
    for (std::uint32_t cut = 0; cut < blocks.size(); ++cut) {
      blocks[cut] = {cut, none};
      new_hashes_[cut] = hashes_.of(cut, cut + 1, sizes_.rows(cut, cut + 1));
    }
    return blocks;
  }

  /// Gives a number to those that have none, and counts them.
  void number(std::vector<Place>& places) {
    // The hash stands for the contents: two blocks with one hash would only be priced wrongly, for rows that are not
    // written are compared one by one.
    const auto is_it = [](std::uint32_t) { return true; };
    constexpr std::size_t ahead = 16;
    std::size_t next = 0;
    for (Place& place : places) {
      if (place.block != none) continue;
      if (next + ahead < new_hashes_.size()) numbers_.will_look_for(new_hashes_[next + ahead]);
      place.block = numbers_.find_or_add(new_hashes_[next++], is_it);
      if (place.block == known_.size()) known_.emplace_back();
      Known& block = known_[place.block];
      const bool repeats = ++block.occurrences == 2;
      block.identifier = repeats ? identifiers_ : block.identifier;
      identifiers_ += repeats ? 1 : 0;
    }
  }

  /// Drops those that occur once. What is kept and what is not is hard to guess, so there is no branch.
  void keep_repeating(std::vector<Place>& growing, std::vector<Place>& found) const {
    found.resize(growing.size());
    std::size_t kept = 0;
    for (const Place& place : growing) {
      const Known& block = known_[place.block];
      found[kept] = {place.cut, block.identifier};
      growing[kept] = place;
      kept += block.occurrences >= 2 ? 1 : 0;
    }
    growing.resize(kept);
    found.resize(kept);
  }

  /// Each takes in the rows up to the next cut, and loses its number; those that cannot go.
  void grow(std::vector<Place>& places, std::uint32_t length) {
    new_hashes_.clear();
    std::size_t kept = 0, run = 0;
    std::uint32_t end_of_run = sequence_.end_of_cuts(run);
    for (const Place& place : places) {
      while (place.cut >= end_of_run) end_of_run = sequence_.end_of_cuts(++run);
      const std::uint32_t end = place.cut + length;
      if (end == end_of_run) continue;
      const std::uint32_t rows_before = sizes_.rows(place.cut, end), rows = sizes_.rows(place.cut, end + 1);
      if (rows > most_rows_) continue;
      // A function that says nothing new leaves the block what it was.
      const bool grows = rows != rows_before;
      if (grows) new_hashes_.push_back(hashes_.of(place.cut, end + 1, rows));
      places[kept++] = {place.cut, grows ? none : place.block};
    }
    places.resize(kept);
  }

  const Sequence& sequence_;
  const BlockSizes& sizes_;
  std::uint32_t most_rows_;
  RowHashes hashes_;
  HashNumbers numbers_;
  std::vector<Known> known_;  ///< by number
  std::uint32_t identifiers_ = 0;
  std::vector<std::uint64_t> new_hashes_;  ///< of the places without a number
};

}  // namespace

RepeatedBlocks::RepeatedBlocks(const Sequence& sequence, const BlockSizes& sizes, std::uint32_t most_rows) {
  Finder finder(sequence, sizes, most_rows);
  const std::vector<std::vector<Place>> by_length = finder.find();
  occurrences_ = finder.occurrences();
  first_.resize(sequence.cuts.size() + 1);
  for (const std::vector<Place>& places : by_length)
    for (const Place& place : places) ++first_[place.cut + 1];
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  blocks_.resize(first_.back());
  for (std::size_t length = 0; length < by_length.size(); ++length)
    for (const Place& place : by_length[length]) blocks_[first_[place.cut] + length] = place.block;
}

}  // namespace sframe_gen::emit::compact
