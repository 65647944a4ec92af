#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "support/hash.hpp"

namespace sframe_gen::emit::compact {

/// Hash → how often. Where a hash is looked for is another place in each run, so that no file can have all of them in
/// one; nothing that is found depends on it. What is there already and what is not cannot be guessed, so there is no
/// branch for it.
class BlockCounts {
 public:
  struct Entry {
    std::uint64_t hash = 0;  ///< 0: unused
    std::uint32_t count = 0;
    std::uint32_t identifier = 0;  ///< of those that occur more than once
  };

  /// Forgets all but those that nobody looks for, the numbers from 0 on.
  void begin(std::size_t expected, std::span<const Entry> fixed) {
    fixed_ = fixed.size();
    make_slots(std::max<std::size_t>(expected, 64));
    std::ranges::copy(fixed, entries_.begin());
    used_ = 0;
  }
  bool is_short_of(std::size_t more) const { return (used_ + more) * slots_per_entry > mask_ + 1; }
  /// Returns the new numbers, by the old ones.
  std::vector<std::uint32_t> grow(std::size_t more) {
    const std::vector<Entry> before = std::move(entries_);
    std::vector<std::uint32_t> moved(before.size());
    make_slots(used_ + more);
    for (std::size_t number = 0; number < before.size(); ++number) {
      if (number >= fixed_ && before[number].hash == 0) continue;
      moved[number] = number < fixed_ ? static_cast<std::uint32_t>(number) : find(before[number].hash);
      entries_[moved[number]] = before[number];
    }
    return moved;
  }

  /// The number of the entry that has the hash, or is to have it.
  std::uint32_t find(std::uint64_t hash) const {
    std::size_t i = slot_of(hash);
    const Entry* const entries = entries_.data() + fixed_;
    while (static_cast<int>(entries[i].hash != hash) & static_cast<int>(entries[i].hash != 0)) i = (i + 1) & mask_;
    return static_cast<std::uint32_t>(fixed_ + i);
  }
  void will_look_for(std::uint64_t hash) const { will_ask_for(static_cast<std::uint32_t>(fixed_ + slot_of(hash))); }
  void will_ask_for(std::uint32_t number) const { __builtin_prefetch(&entries_[number], 1); }
  void count_used(std::uint32_t more) { used_ += more; }
  Entry& operator[](std::uint32_t number) { return entries_[number]; }

 private:
  static constexpr std::size_t slots_per_entry = 2;

  void make_slots(std::size_t entries) {
    const std::size_t slots = std::bit_ceil(entries * slots_per_entry);
    mask_ = slots - 1;
    shift_ = 64 - std::countr_zero(slots);
    entries_.assign(fixed_ + slots, {});
  }
  std::size_t slot_of(std::uint64_t hash) const { return (hash * spread_) >> shift_; }

  std::vector<Entry> entries_;
  std::size_t fixed_ = 0, mask_ = 0, used_ = 0;
  int shift_ = 0;
  std::uint64_t spread_ = seed_of_run() | 1;
};

}  // namespace sframe_gen::emit::compact
