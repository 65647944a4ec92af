#include "emit/compact/block_finder.hpp"

#include <algorithm>
#include <bit>

namespace sframe_gen::emit::compact {

void BlockFinder::find(std::span<const CutStart> starts) {
  if (found_.capacity() == 0) found_.reserve(expected_);
  cuts_.resize(starts.size());
  keys_.resize(starts.size());
  for (std::size_t i = 0; i < starts.size(); ++i) {
    cuts_[i] = starts[i].cut;
    keys_[i] = starts[i].root.value;
  }
  const auto take = [&](std::uint32_t key, std::uint32_t begin, std::uint32_t size) {
    const PartHashes::Root root{key};
    waiting_.push_back({begin, size, root.parts(), root.rows(), longest_[cuts_[begin]]});
  };
  group_by_key(cuts_, take, [](std::uint32_t) {});
  const std::size_t first = found_.size();
  while (!waiting_.empty()) {
    const Class places = waiting_.back();
    waiting_.pop_back();
    grow(places);
  }
  // All at once: what nothing else waits for is read while other blocks' sizes are.
  for (RepeatedBlock& block : std::span(found_).subspan(first))
    block.bytes = sizes_.shape(block.bytes, block.bytes + block.parts).bytes;
}

RepeatedBlocks::Id BlockFinder::add(const Class& places) {
  found_.push_back({places.head, places.parts, places.size, cuts_[places.begin]});
  return singles_ + static_cast<RepeatedBlocks::Id>(found_.size() - 1);
}

void BlockFinder::grow(Class places) {
  const std::uint32_t* const cuts = cuts_.data() + places.begin;
  while (true) {
    places.head = add(places);
    const std::uint32_t key = hashes_.behind_others(cuts[0] + places.parts);
    std::uint32_t differ = 0;
    for (std::uint32_t i = 1; i < places.size; ++i) differ |= hashes_.behind_others(cuts[i] + places.parts) ^ key;
    if (differ != 0) {
      if (places.size == 2) break;
      return divide(places);
    }
    if (key == PartHashes::behind_none || places.rows + PartHashes::rows_of(key) > most_rows_) break;
    places.rows += PartHashes::rows_of(key);
    ++places.parts;
  }
  for (std::uint32_t i = 0; i < places.size; ++i) longest_[cuts[i]] = places.head;
}

void BlockFinder::divide(const Class& places) {
  const std::span<std::uint32_t> cuts = std::span(cuts_).subspan(places.begin, places.size);
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    const std::uint32_t part = hashes_.behind_others(cuts[i] + places.parts);
    keys_[i] = places.rows + PartHashes::rows_of(part) <= most_rows_ ? part : PartHashes::behind_none;
  }
  const auto take = [&](std::uint32_t part, std::uint32_t begin, std::uint32_t size) {
    waiting_.push_back(
        {places.begin + begin, size, places.parts + 1, places.rows + PartHashes::rows_of(part), places.head});
  };
  group_by_key(cuts, take, [&](std::uint32_t cut) { longest_[cut] = places.head; });
}

template <typename Take, typename Leave>
void BlockFinder::group_by_key(std::span<std::uint32_t> cuts, Take take, Leave leave) {
  const std::size_t slots = std::bit_ceil(cuts.size() * 2);
  const int shift = 32 - std::countr_zero(slots);
  slots_.assign(slots, {});
  numbers_.resize(std::max(numbers_.size(), cuts.size()));
  known_.assign(1, {0, 0, 0});
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    const std::uint32_t key = keys_[i];
    if (key == 0) {
      numbers_[i] = 0;
      continue;
    }
    std::size_t slot = (key * spread_) >> shift;
    while (slots_[slot].key != key && slots_[slot].key != 0) slot = (slot + 1) & (slots - 1);
    if (slots_[slot].key == 0) {
      slots_[slot] = {key, static_cast<std::uint32_t>(known_.size())};
      known_.push_back({key, 0, 0});
    }
    numbers_[i] = slots_[slot].number;
    ++known_[slots_[slot].number].size;
  }
  std::uint32_t end = 0;
  known_[0].size = 0;
  for (Key& key : known_) {
    if (key.size < 2) continue;
    key.next = end;
    end += key.size;
  }
  sorted_.resize(std::max(sorted_.size(), cuts.size()));
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    Key& key = known_[numbers_[i]];
    if (key.size < 2) {
      leave(cuts[i]);
    } else {
      sorted_[key.next++] = cuts[i];
    }
  }
  std::copy_n(sorted_.begin(), end, cuts.begin());
  for (const Key& key : known_)
    if (key.size >= 2) take(key.key, key.next - key.size, key.size);
}

}  // namespace sframe_gen::emit::compact
