#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "emit/compact/block_sizes.hpp"
#include "emit/compact/cut_groups.hpp"
#include "emit/compact/part_hashes.hpp"
#include "emit/compact/repeated_blocks.hpp"
#include "support/hash.hpp"

namespace sframe_gen::emit::compact {

/// What a thread uses for one group after the other. The places of a block are divided by the part that comes next, as
/// long as there are two that have the same: most blocks stand in few places, which are compared with each other.
/// Aligned, for threads have theirs side by side.
class alignas(64) BlockFinder {
 public:
  /// `singles`: so many of one row there are, which have the lowest numbers. `longest`: by cut; so far that of one row.
  /// `expected`: about so many blocks will be found.
  BlockFinder(const PartHashes& hashes, const BlockSizes& sizes, std::uint32_t most_rows, RepeatedBlocks::Id singles,
              RepeatedBlocks::Id* longest, std::size_t expected)
      : hashes_(hashes),
        sizes_(sizes),
        most_rows_(most_rows),
        singles_(singles),
        longest_(longest),
        expected_(expected) {}

  void find(std::span<const CutStart> starts);
  /// In all groups; the first has the number behind the last one of a single row.
  std::vector<RepeatedBlock> release() { return std::move(found_); }

 private:
  /// Places that are equal so far.
  struct Class {
    std::uint32_t begin, size;  ///< in cuts_
    std::uint32_t parts, rows;
    RepeatedBlocks::Id head;
  };
  struct Slot {
    std::uint32_t key = 0;  ///< 0: unused
    std::uint32_t number = 0;
  };

  /// Follows those that are equal until they are not.
  void grow(Class places);
  void divide(const Class& places);
  RepeatedBlocks::Id add(const Class& places);

  /// Calls `take(key, begin, size)` for each key but 0 that is there more than once, where the cuts are then behind
  /// each other in `cuts`, and `leave(cut)` for all others.
  template <typename Take, typename Leave>
  void group_by_key(std::span<std::uint32_t> cuts, Take take, Leave leave);

  const PartHashes& hashes_;
  const BlockSizes& sizes_;
  std::uint32_t most_rows_;
  RepeatedBlocks::Id singles_;
  RepeatedBlocks::Id* longest_;
  std::size_t expected_;
  std::vector<RepeatedBlock> found_;  ///< those of the group at hand have the cut of a place for their bytes
  std::vector<std::uint32_t> cuts_;
  std::vector<std::uint32_t> keys_;  ///< by place: of what comes next
  std::vector<Class> waiting_;
  // Of group_by_key(). Where a key is looked for is another place in each run, so that no file can have all of them in
  // one.
  std::uint32_t spread_ = static_cast<std::uint32_t>(seed_of_run()) | 1;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> numbers_;  ///< by place
  struct Key {
    std::uint32_t key, size, next;
  };
  std::vector<Key> known_;
  std::vector<std::uint32_t> sorted_;
};

}  // namespace sframe_gen::emit::compact
