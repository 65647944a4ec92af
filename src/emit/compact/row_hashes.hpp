#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "emit/compact/sequence.hpp"

namespace sframe_gen::emit::compact {

/// The hash of any block of rows, from one cut to another, in constant time: equal for equal rules at equal distances
/// from the block's start, wherever the cuts between are.
///
/// A sum over the rows, each hashed with its distance to the one before it, times a power of an odd number for those
/// behind it, modulo 2^64. So that of a block is the sum up to its end less the sum up to its first row, times a power,
/// but for the first row, which has no distance; and where a cut repeats the rule before it, for the second.
class RowHashes {
 public:
  RowHashes() = default;
  RowHashes(const Sequence& sequence, std::uint32_t most_rows);

  /// `rows`: that the block has.
  std::uint64_t of(std::uint32_t begin, std::uint32_t end, std::uint32_t rows) const {
    const Start& first = starts_[begin];
    return rows < first.rows ? first.alone : sums_[end] + first.difference * powers_[rows - first.rows];
  }

 private:
  struct Start {
    std::uint64_t alone = 0;       ///< the hash of the first row by itself
    std::uint64_t difference = 0;  ///< that of the first `rows` rows of a block less the sum up to there
    std::uint32_t rows = 1;
  };
  std::vector<std::uint64_t> sums_;  ///< by cut, and one behind the last: over all rows that repeat nothing
  std::vector<Start> starts_;
  std::vector<std::uint64_t> powers_;
};

}  // namespace sframe_gen::emit::compact
