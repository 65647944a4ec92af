#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "emit/dialect.hpp"
#include "support/hash.hpp"

namespace sframe_gen::emit::compact {

/// The row sub-section: each block once, as far as readers allow it. Blocks are equal if their bytes are.
class BlockPool {
 public:
  explicit BlockPool(const Dialect& dialect)
      : shares_(dialect.shares_rows), shares_heads_(dialect.shares_rows && !dialect.version->splits_descriptor) {}

  /// Returns the block's number.
  std::uint32_t add(std::span<const std::byte> block);

  struct Placed {
    std::vector<std::uint32_t> offsets;  ///< by number
    std::vector<std::byte> bytes;
  };
  /// Returns where each block is, in the order they came in. Throws std::length_error past 4 GiB. Nothing is left.
  Placed release();

  /// What all blocks that were added take together, if nothing is shared.
  std::uint64_t added_bytes() const { return added_bytes_; }

 private:
  bool shares_;
  bool shares_heads_;  ///< a block that another begins with is a part of that
  struct Block {
    std::size_t begin, size;
  };
  std::span<const std::byte> bytes_of(std::uint32_t block) const {
    return std::span(bytes_).subspan(blocks_[block].begin, blocks_[block].size);
  }
  std::vector<std::uint32_t> holders() const;

  std::vector<std::byte> bytes_;
  std::vector<Block> blocks_;
  HashedNumbers numbers_;
  std::uint64_t added_bytes_ = 0;
};

}  // namespace sframe_gen::emit::compact
