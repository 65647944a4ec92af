#include "emit/compact/block_pool.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace sframe_gen::emit::compact {

namespace {

std::uint32_t checked_offset(std::size_t offset) {
  if (offset > std::numeric_limits<std::uint32_t>::max())
    throw std::length_error("more rows than the 32-bit offsets of an SFrame section can reach");
  return static_cast<std::uint32_t>(offset);
}

}  // namespace

std::uint32_t BlockPool::add(std::span<const std::byte> block) {
  added_bytes_ += block.size();
  if (shares_) {
    const std::uint64_t hash = hash_of_bytes(block, seed_of_run());
    const auto known = numbers_.find(hash, [&](std::uint32_t number) {
      const auto other = bytes_of(number);
      return other.size() == block.size() && std::memcmp(other.data(), block.data(), block.size()) == 0;
    });
    if (known) return *known;
    numbers_.add(hash);
  }
  blocks_.push_back({bytes_.size(), block.size()});
  bytes_.insert(bytes_.end(), block.begin(), block.end());
  return static_cast<std::uint32_t>(blocks_.size() - 1);
}

/// Returns for each block the one that it is the beginning of, or itself: blocks sorted by their bytes are followed by
/// those that begin with them.
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
  Placed placed{std::vector<std::uint32_t>(blocks_.size()), {}};
  if (!shares_heads_) {
    for (std::size_t i = 0; i < blocks_.size(); ++i) placed.offsets[i] = checked_offset(blocks_[i].begin);
    placed.bytes = std::move(bytes_);
    return placed;
  }
  const std::vector<std::uint32_t> holders = this->holders();
  for (std::uint32_t block = 0; block < blocks_.size(); ++block) {
    if (holders[block] != block) continue;
    placed.offsets[block] = checked_offset(placed.bytes.size());
    const auto bytes = bytes_of(block);
    placed.bytes.insert(placed.bytes.end(), bytes.begin(), bytes.end());
  }
  for (std::uint32_t block = 0; block < blocks_.size(); ++block) placed.offsets[block] = placed.offsets[holders[block]];
  return placed;
}

}  // namespace sframe_gen::emit::compact
