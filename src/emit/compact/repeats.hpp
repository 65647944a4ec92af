#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "emit/compact/cuts.hpp"

namespace sframe_gen::emit::compact {

/// A block that occurs more than once: equal rules at equal distances, and cuts at the same rows.
struct RepeatedBlock {
  std::uint32_t head = 0;    ///< the block without the rows of its last cut, which repeats too
  std::uint32_t cuts = 0;    ///< whose rows it has
  std::uint32_t places = 0;  ///< where it occurs
  std::uint32_t bytes = 0;   ///< of its rows, and of version 3's attribute in front of them
};

/// Blocks are numbered from 1 on. 0, which has no cuts, stands for a block that does not repeat.
inline constexpr std::uint32_t no_block = 0;

/// Finds all blocks of as many rows as a descriptor may have, or of one cut, that repeat. A block can repeat only if
/// its head does: so they are a forest, the blocks that begin at a cut are the way from Run::repeated_blocks up, and
/// heads have lower numbers. Time is linear in the number of places of what repeats.
/// Takes the hashes of the runs.
///
/// If a file is made to have many more repeated blocks than others, some are not found: memory stays within six blocks
/// for each cut.
///
/// Blocks count as equal if 64-bit hashes of their rows are. If others are made to have the same hash, they are priced
/// wrongly; rows are shared only if their bytes are equal.
std::vector<RepeatedBlock> find_repeated_blocks(std::span<Run> runs, const Dialect& dialect);

}  // namespace sframe_gen::emit::compact
