#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "emit/compact/block_counts.hpp"
#include "emit/compact/block_sizes.hpp"
#include "emit/compact/cut_groups.hpp"
#include "emit/compact/row_hashes.hpp"
#include "emit/compact/single_rows.hpp"

namespace sframe_gen::emit::compact {

/// What one thread finds, group by group.
struct FoundBlocks {
  /// Cut by cut; those of a single row first, and each thread counts its own from there on.
  std::vector<std::uint32_t> blocks;
  std::vector<std::uint16_t> counts;  ///< how many begin at each cut; a stretch has no more cuts
  Findings findings;                  ///< of its own
};

/// Where that of a group is.
struct GroupFound {
  std::size_t worker = 0;
  std::uint32_t first_block = 0, first_count = 0;
  std::uint32_t first_identifier = 0, identifiers = 0;
};

/// What a thread uses for one group after the other. Blocks grow by length: one can repeat only if it repeats without
/// its last part. Aligned, for threads have theirs side by side.
class alignas(64) BlockFinder {
 public:
  /// `expected`: about so many blocks will be found.
  BlockFinder(const RowHashes& hashes, const BlockSizes& sizes, std::uint32_t most_rows, const SingleRows& singles,
              std::size_t expected);

  GroupFound find(std::span<const CutStart> starts);
  /// In all groups.
  FoundBlocks release() { return std::move(found_); }

 private:
  /// A block that begins at a cut.
  struct Place {
    std::uint32_t index;  ///< of the cut, in the group
    std::uint32_t block;  ///< a number of blocks_; of what is found, an identifier
  };
  struct New {
    std::uint32_t number, cut;
  };

  /// The shortest blocks, but those of a single row that are nowhere else.
  void begin();
  /// Gives a number to those that have none, and counts them.
  void count_new(std::uint32_t length);
  /// Those that were found for the second time.
  void name(std::span<const New> blocks, std::uint32_t length);
  /// Drops those that occur once. What is kept and what is not is hard to guess, so there is no branch.
  void keep_repeating();
  /// Each takes in the rows up to the next cut; those that cannot go.
  void grow(std::uint32_t length);

  void make_room();
  /// What was found by length.
  void sort_by_cut();

  const RowHashes& hashes_;
  const BlockSizes& sizes_;
  std::uint32_t most_rows_;
  std::uint32_t single_count_;
  std::vector<BlockCounts::Entry> singles_;
  std::span<const CutStart> starts_;
  BlockCounts blocks_;
  std::vector<Place> growing_;
  std::vector<Place> repeating_;          ///< by length, and then by cut
  std::vector<std::uint32_t> counts_at_;  ///< by index
  std::vector<std::uint32_t> next_;
  std::vector<New> new_;
  std::vector<std::uint32_t> named_;       ///< numbers of the group's blocks that occur more than once
  std::vector<std::uint64_t> new_hashes_;  ///< of the places without a number
  FoundBlocks found_;
};

}  // namespace sframe_gen::emit::compact
