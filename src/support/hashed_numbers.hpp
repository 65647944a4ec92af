#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace sframe_gen {

/// Finds the numbers of things, which count from 0, by the hashes of the things: a table at most half full.
class HashedNumbers {
 public:
  HashedNumbers() : slots_(first_slots) {}

  /// The number that `is_it` says yes to, if it is that of a thing with this hash.
  template <typename IsIt>
  std::optional<std::uint32_t> find(std::uint64_t hash, IsIt&& is_it) const {
    const auto kept = static_cast<std::uint32_t>(hash);
    for (std::size_t at = kept & mask(); slots_[at].next != 0; at = (at + 1) & mask())
      if (slots_[at].hash == kept && is_it(slots_[at].next - 1)) return slots_[at].next - 1;
    return std::nullopt;
  }

  /// Takes the next number in, of a thing with this hash.
  std::uint32_t add(std::uint64_t hash) {
    if (count_ == slots_.size() / 2) {
      const std::vector<Slot> before = std::exchange(slots_, std::vector<Slot>(slots_.size() * 2));
      for (const Slot& slot : before)
        if (slot.next != 0) put(slot);
    }
    put({static_cast<std::uint32_t>(hash), ++count_});
    return count_ - 1;
  }

  void clear() {
    slots_.assign(first_slots, {});
    count_ = 0;
  }

 private:
  static constexpr std::size_t first_slots = 512;

  /// With the hash, whose computation takes longer than a look at it: a table grows by it.
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t next = 0;  ///< the number that comes after the slot's; 0: it is free
  };

  std::size_t mask() const { return slots_.size() - 1; }
  void put(const Slot& slot) {
    std::size_t at = slot.hash & mask();
    while (slots_[at].next != 0) at = (at + 1) & mask();
    slots_[at] = slot;
  }

  std::vector<Slot> slots_;
  std::uint32_t count_ = 0;
};

}  // namespace sframe_gen
