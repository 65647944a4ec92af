#include "emit/compact/block_pool.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "support/hash.hpp"

namespace sframe_gen::emit::compact {

namespace {

void check_offset(std::size_t offset) {
  if (offset > std::numeric_limits<std::uint32_t>::max())
    throw std::length_error("more rows than the 32-bit offsets of an SFrame section can reach");
}

}  // namespace

void BlockPool::expect(std::size_t blocks, std::size_t bytes) {
  blocks_.reserve(blocks);
  bytes_.reserve(bytes);
}

std::uint64_t BlockPool::hash_of(std::span<const std::byte> block) const {
  return sharing_ == Sharing::None ? 0 : hash_of_bytes(block, seed_of_run());
}

std::uint32_t BlockPool::add(std::span<const std::byte> block, std::uint64_t hash) {
  added_bytes_ += block.size();
  const auto number = static_cast<std::uint32_t>(blocks_.size());
  if (sharing_ != Sharing::None) {
    const auto is_it = [&](std::uint32_t known) {
      const auto bytes = bytes_of(known);
      return bytes.size() == block.size() && std::memcmp(bytes.data(), block.data(), block.size()) == 0;
    };
    const std::uint32_t found = numbers_.find_or_add(hash, is_it);
    if (found != number) return found;
  }
  blocks_.push_back({bytes_.size(), static_cast<std::uint32_t>(block.size())});
  bytes_.insert(bytes_.end(), block.begin(), block.end());
  return number;
}

/// For each block, the one that it is the beginning of, or itself: in the order of the bytes it comes right before it.
std::vector<std::uint32_t> BlockPool::holders() const {
  std::vector<std::uint32_t> holders(blocks_.size());
  std::iota(holders.begin(), holders.end(), 0U);
  std::vector<std::uint32_t> sorted = holders;
  std::ranges::sort(sorted, [&](std::uint32_t a, std::uint32_t b) {
    return std::ranges::lexicographical_compare(bytes_of(a), bytes_of(b));
  });
  for (std::size_t i = sorted.size(); i-- > 1;) {
    const auto head = bytes_of(sorted[i - 1]), longer = bytes_of(sorted[i]);
    const bool begins = head.size() <= longer.size() && std::ranges::equal(head, longer.first(head.size()));
    if (begins) holders[sorted[i - 1]] = holders[sorted[i]];
  }
  return holders;
}

BlockPool::Placed BlockPool::release() {
  Placed placed;
  placed.offsets.resize(blocks_.size());
  if (sharing_ != Sharing::Heads) {
    check_offset(blocks_.empty() ? 0 : blocks_.back().begin);
    for (std::uint32_t block = 0; block < blocks_.size(); ++block)
      placed.offsets[block] = static_cast<std::uint32_t>(blocks_[block].begin);
    placed.bytes = std::move(bytes_);
    return placed;
  }
  const std::vector<std::uint32_t> holders = this->holders();
  for (std::uint32_t block = 0; block < blocks_.size(); ++block) {
    if (holders[block] != block) continue;
    check_offset(placed.bytes.size());
    placed.offsets[block] = static_cast<std::uint32_t>(placed.bytes.size());
    const auto bytes = bytes_of(block);
    placed.bytes.insert(placed.bytes.end(), bytes.begin(), bytes.end());
  }
  for (std::uint32_t block = 0; block < blocks_.size(); ++block) placed.offsets[block] = placed.offsets[holders[block]];
  return placed;
}

}  // namespace sframe_gen::emit::compact
