#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "emit/compact/sequence.hpp"

namespace sframe_gen::emit::compact {

/// The hash of any block of two or more rows, from one cut to another, in constant time: equal for equal rules at equal
/// distances from the block's start, wherever the cuts between are.
///
/// A sum over the rows, each hashed with its distance to the one before it, times a power of an odd number for those
/// behind it, modulo 2^64. So that of a block is the sum up to its end less the sum up to its first row, times a power,
/// but for the first row, which has no distance; and where a cut repeats the rule before it, for the second.
class RowHashes {
 public:
  RowHashes() = default;
  RowHashes(const Sequence& sequence, std::uint32_t most_rows);

  /// What the hashes of all blocks that begin at a cut have in common.
  struct Begin {
    std::uint64_t difference;  ///< the hash of the first row less the sum up to there
    std::uint32_t rows;        ///< before it, in its stretch
    std::uint32_t cut;
  };
  const Begin& begin(std::uint32_t cut) const { return begins_[cut]; }

  /// Of the block from there up to the cut `end` of the same stretch.
  std::uint32_t rows(const Begin& begin, std::uint32_t end) const { return ends_[end].rows - begin.rows; }
  /// Never 0.
  std::uint64_t hash(const Begin& begin, std::uint32_t end) const {
    const std::uint64_t hash = ends_[end].sum + begin.difference * powers_[rows(begin, end) - 1];
    return hash == 0 ? 1 : hash;
  }
  /// Blocks that end there will be asked for soon.
  void expect(std::uint32_t end) const { __builtin_prefetch(&ends_[end]); }

  /// Blocks of two or more rows that begin at cuts of different groups are different.
  static constexpr unsigned group_bits = 8;
  std::uint8_t group(std::uint32_t cut) const { return groups_[cut]; }

 private:
  struct End {
    std::uint64_t sum;   ///< over all rows of the stretch before the cut that repeat nothing
    std::uint32_t rows;  ///< so many
  };
  void add(const Sequence& sequence, const Stretch& stretch);

  std::unique_ptr<End[]> ends_;             ///< by cut, and one behind the last
  std::unique_ptr<Begin[]> begins_;         ///< by cut
  std::unique_ptr<std::uint8_t[]> groups_;  ///< by cut
  std::vector<std::uint64_t> powers_;
};

}  // namespace sframe_gen::emit::compact
