#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "emit/compact/block_sizes.hpp"
#include "emit/compact/sequence.hpp"

namespace sframe_gen::emit::compact {

/// Which blocks of rows, from one cut to another, occur more than once: same rules at the same distances from the
/// block's start. Found by length: a block can repeat only if the block without its last part does. So the time is
/// linear in the cuts and in the number of places of what repeats.
class RepeatedBlocks {
 public:
  using Id = std::uint32_t;

  /// None.
  RepeatedBlocks() = default;
  RepeatedBlocks(const Sequence& sequence, const BlockSizes& sizes, std::uint32_t most_rows);

  /// Those that begin at the cut and occur elsewhere too: up to the next cut, to the one behind it, and so on.
  std::span<const Id> at(std::uint32_t cut) const {
    if (first_.empty()) return {};
    return std::span(blocks_).subspan(first_[cut], first_[cut + 1] - first_[cut]);
  }

  /// Places where the block, or one that begins with it, stands.
  std::uint32_t occurrences(Id block) const { return occurrences_[block]; }
  std::size_t size() const { return occurrences_.size(); }

 private:
  std::vector<std::uint32_t> first_;  ///< by cut: an index into blocks_
  std::vector<Id> blocks_;
  std::vector<std::uint32_t> occurrences_;
};

}  // namespace sframe_gen::emit::compact
