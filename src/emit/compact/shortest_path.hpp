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
struct BlockPrices {
  std::vector<std::uint32_t> shares;  ///< by block: parts of a byte, for each byte of it
  std::vector<std::uint32_t> prices;  ///< by block: in all
};

/// What all paths have in common.
struct PathRules {
  const BlockSizes& sizes;
  const RepeatedBlocks& blocks;
  const Reaches& reaches;                         ///< none where heads are shared
  const std::vector<std::uint32_t>& block_bytes;  ///< by block
  std::uint32_t most_rows;
  std::uint64_t descriptor_price;
  bool shares_heads;  ///< who has a block has what it begins with too
};

/// Memory that paths use one after the other.
struct PathMemory {
  std::vector<std::uint64_t> arrivals;
  std::vector<std::int64_t> narrow, wide;
};

/// Cuts a stretch into blocks so that descriptors and blocks have the lowest price. `starts`: where they begin,
/// ascending. Returns the path's length, in parts of a byte.
std::uint64_t shortest_path(const PathRules& rules, const Stretch& stretch, const BlockPrices& prices,
                            std::vector<std::uint32_t>& starts, PathMemory& memory);

}  // namespace sframe_gen::emit::compact
