#pragma once

#include <cstdint>
#include <vector>

#include "emit/compact/block_sizes.hpp"
#include "emit/compact/reaches.hpp"
#include "emit/compact/repeated_blocks.hpp"
#include "emit/dialect.hpp"

namespace sframe_gen::emit::compact {

/// Prices are in parts of a byte, so that a block's price can be divided.
inline constexpr std::uint64_t parts_per_byte = 4096;

/// What one of its users pays for a repeated block.
class BlockPrices {
 public:
  using Id = RepeatedBlocks::Id;

  explicit BlockPrices(const RepeatedBlocks& blocks)
      : blocks_(blocks), shares_(blocks.all().size()), offers_(shares_.size()) {}

  /// `share_of(id)`: parts of a byte, for each byte of the block, but for RepeatedBlocks::none.
  template <typename ShareOf>
  void set(ShareOf share_of) {
    for (Id id = 1; id < shares_.size(); ++id) {
      const RepeatedBlock& block = blocks_.all()[id];
      const std::uint32_t share = share_of(id);
      shares_[id] = share;
      offers_[id] = share < parts_per_byte && Offer::can_be(block)
                        ? Offer{share * block.bytes << Offer::parts_bits | block.parts, block.head}
                        : offers_[block.head];
    }
  }

  std::uint32_t share(Id block) const { return shares_[block]; }

  /// In few bytes, for there are many, and paths look for them in no order.
  struct Offer {
    static constexpr unsigned parts_bits = 8;
    /// That of longer ones, which nobody asks for who has no more than 64 rows a descriptor, is what they cost alone.
    static bool can_be(const RepeatedBlock& block) {
      constexpr std::uint32_t most_bytes = UINT32_MAX / (parts_per_byte << parts_bits);
      return block.bytes <= most_bytes && block.parts >> parts_bits == 0;
    }
    std::uint32_t price_and_parts = 0;
    Id next = RepeatedBlocks::none;  ///< that of a head, or of a head of that

    std::uint32_t price() const { return price_and_parts >> parts_bits; }
    std::uint32_t parts() const { return price_and_parts & ((1U << parts_bits) - 1); }
  };
  /// That of the longest of a block and its heads that costs less than it would if it were nowhere else. Of
  /// RepeatedBlocks::none: nothing for no parts.
  const Offer& offer(Id block) const { return offers_[block]; }
  void expect(Id block) const { __builtin_prefetch(&offers_[block]); }

 private:
  const RepeatedBlocks& blocks_;
  std::vector<std::uint32_t> shares_;  ///< by block
  std::vector<Offer> offers_;          ///< by block
};

/// A block of a path.
struct PathBlock {
  std::uint32_t begin;          ///< a cut
  RepeatedBlocks::Id repeated;  ///< or RepeatedBlocks::none
};

/// What all paths have in common.
struct PathRules {
  const BlockSizes& sizes;
  const RepeatedBlocks& blocks;
  const Reaches& reaches;  ///< none where heads are shared
  std::uint32_t most_rows;
  std::uint64_t descriptor_price;
  bool shares_heads;  ///< who has a block has what it begins with too
};

/// What a path knows of a cut.
struct PathPlace {
  std::uint64_t arrival;      ///< there, by the shortest path from the stretch's first one
  std::int64_t narrow, wide;  ///< what those pay beforehand who begin there, with row starts of one byte and of two
};

/// Memory that paths use one after the other.
struct PathMemory {
  std::vector<PathPlace> places;  ///< by cut of a stretch, and one behind the last
  std::vector<RepeatedBlocks::Id> found;
};

/// Cuts a stretch into blocks so that descriptors and blocks have the lowest price. `path`: the blocks, ascending.
/// Returns the path's length, in parts of a byte.
std::uint64_t shortest_path(const PathRules& rules, const Stretch& stretch, const BlockPrices& prices,
                            std::vector<PathBlock>& path, PathMemory& memory);

}  // namespace sframe_gen::emit::compact
