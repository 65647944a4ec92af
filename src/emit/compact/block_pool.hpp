#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "emit/compact/hash_numbers.hpp"

namespace sframe_gen::emit::compact {

/// How blocks may lie in the row sub-section.
enum class Sharing : std::uint8_t {
  None,   ///< each by itself
  Equal,  ///< equal ones once
  Heads,  ///< and one that another begins with is a part of that
};

/// Blocks of rows, stored once. What is equal is found by comparing bytes.
class BlockPool {
 public:
  explicit BlockPool(Sharing sharing) : sharing_(sharing) {}

  /// So many blocks are to come, of so many bytes.
  void expect(std::size_t blocks, std::size_t bytes);
  std::uint64_t hash_of(std::span<const std::byte> block) const;
  /// Returns the block's number.
  std::uint32_t add(std::span<const std::byte> block, std::uint64_t hash);
  /// One that is known to be equal to that of this number.
  void add_again(std::uint32_t number) { added_bytes_ += blocks_[number].size; }

  struct Placed {
    std::vector<std::uint32_t> offsets;  ///< by number
    std::vector<std::byte> bytes;
  };
  /// Where each is, in the order they came in. Nothing is left.
  Placed release();

  /// What all blocks that were added take together, each by itself.
  std::uint64_t added_bytes() const { return added_bytes_; }

 private:
  std::span<const std::byte> bytes_of(std::uint32_t block) const {
    return std::span(bytes_).subspan(blocks_[block].begin, blocks_[block].size);
  }
  /// Where heads are shared.
  std::vector<std::uint32_t> holders() const;

  struct Block {
    std::size_t begin;
    std::uint32_t size;
  };
  Sharing sharing_;
  std::vector<std::byte> bytes_;
  std::vector<Block> blocks_;
  HashNumbers numbers_{0};
  std::uint64_t added_bytes_ = 0;
};

}  // namespace sframe_gen::emit::compact
