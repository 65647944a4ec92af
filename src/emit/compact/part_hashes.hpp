#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "emit/compact/sequence.hpp"

namespace sframe_gen::emit::compact {

/// What the rows from each cut to the next one are, as 32 bits: equal for equal rules at equal distances, whatever
/// stands before. A block is equal to another if the parts are that it consists of. It is hashes that are equal: two
/// blocks that are not would be priced wrongly, for rows that are not written are compared one by one. How many rows
/// there are stands beside the hash, so that no block has more than it may.
class PartHashes {
 public:
  /// None.
  PartHashes() = default;
  /// Of no stretch yet. One thread may add one while another adds another. `most_rows`: of a block.
  explicit PartHashes(const Sequence& sequence);
  void add(const Sequence& sequence, const Stretch& stretch, std::uint32_t most_rows);

  /// The part behind a cut, behind others. That at a stretch's first cut, and that behind the last cut, are behind
  /// none.
  std::uint32_t behind_others(std::uint32_t cut) const { return parts_[cut]; }
  static constexpr std::uint32_t behind_none = 0;
  static constexpr std::uint32_t rows_of(std::uint32_t part) { return part & (most_rows_of_part - 1); }

  /// The shortest block of two or more rows that begins at a cut, or Root::none: those of a single row are few.
  struct Root {
    std::uint32_t value;
    static constexpr std::uint32_t none = 0;

    static constexpr unsigned parts_bits = 2;
    std::uint32_t rows() const { return value & (most_rows_of_root - 1); }
    std::uint32_t parts() const { return value / most_rows_of_root & ((1U << parts_bits) - 1); }
  };
  Root root(std::uint32_t cut) const { return {roots_[cut]}; }
  /// Blocks of two or more rows that begin at cuts of different groups are different.
  static constexpr unsigned group_bits = 8;
  std::uint8_t group(std::uint32_t cut) const { return groups_[cut]; }

  /// Parts that begin with a single row, and have that row to themselves: 0 where there are more rows behind the cut.
  std::uint32_t parts_of_single_row(std::uint32_t cut) const {
    const std::uint32_t parts = root(cut).parts();
    return parts != 0 ? parts - 1 : parts_[cut + 1] == without_rows ? 2 : 1;
  }

 private:
  static constexpr std::uint32_t most_rows_of_part = 16, most_rows_of_root = 32;
  static_assert(most_rows_without_cut < most_rows_of_part);
  /// A function that says nothing new.
  static constexpr std::uint32_t without_rows = most_rows_of_part;

  void set_root(std::uint32_t cut, std::uint64_t hash, std::size_t rows, std::uint32_t parts, std::uint32_t most_rows);

  std::unique_ptr<std::uint32_t[]> parts_;  ///< by cut, and one behind the last
  std::unique_ptr<std::uint32_t[]> roots_;  ///< by cut
  std::unique_ptr<std::uint8_t[]> groups_;  ///< by cut that has a root
};

}  // namespace sframe_gen::emit::compact
