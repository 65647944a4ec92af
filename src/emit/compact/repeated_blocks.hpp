#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "emit/compact/block_finder.hpp"
#include "emit/compact/block_sizes.hpp"
#include "emit/compact/cut_groups.hpp"
#include "emit/compact/row_hashes.hpp"
#include "emit/compact/sequence.hpp"
#include "emit/compact/single_rows.hpp"

namespace sframe_gen::emit::compact {

/// Which blocks of rows, from one cut to another, occur more than once: same rules at the same distances from the
/// block's start. Found by length: a block can repeat only if the block without its last part does. So the time is
/// linear in the cuts and in the number of places of what repeats.
class RepeatedBlocks {
 public:
  using Id = std::uint32_t;

  /// None.
  RepeatedBlocks() = default;
  RepeatedBlocks(const Sequence& sequence, const RowHashes& hashes, const BlockSizes& sizes, std::uint32_t most_rows);

  /// Those that begin at the cut and occur elsewhere too: up to the next cut, to the one behind it, and so on.
  std::span<const Id> at(std::uint32_t cut) const {
    if (places_.empty()) return {};
    return std::span(blocks_[places_[cut].worker]).subspan(places_[cut].first, places_[cut].count);
  }

  /// Places where the block, or one that begins with it, stands.
  std::uint32_t occurrences(Id block) const { return occurrences_[block]; }
  /// That each takes.
  const std::vector<std::uint32_t>& bytes() const { return bytes_; }
  std::size_t size() const { return occurrences_.size(); }

 private:
  struct Place {
    std::uint32_t first = 0;  ///< an index into blocks_
    std::uint16_t count = 0;  ///< a stretch has no more cuts
    std::uint16_t worker = 0;
  };
  static_assert(Stretch::longest_bits < 16);

  /// `counts`: of the group's cuts, and what is behind them.
  void take(std::span<const CutStart> starts, std::span<const std::uint16_t> counts, const GroupFound& group,
            Id singles, Id base);

  std::vector<Place> places_;            ///< by cut
  std::vector<std::vector<Id>> blocks_;  ///< by thread that found them
  std::vector<std::uint32_t> occurrences_, bytes_;
};

}  // namespace sframe_gen::emit::compact
