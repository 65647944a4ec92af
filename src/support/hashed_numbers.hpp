#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace sframe_gen {

/// Finds the numbers of things, which count from 0, by the hashes of the things: a table at most half full.
class HashedNumbers {
 public:
  HashedNumbers() : slots_(first_slots) {}

  /// The number that `is_it` says yes to, if it is that of a thing with this hash.
  template <typename IsIt>
  std::optional<std::uint32_t> find(std::uint64_t hash, IsIt&& is_it) const {
    for (std::size_t slot = hash & mask(); slots_[slot] != 0; slot = (slot + 1) & mask())
      if (is_it(slots_[slot] - 1)) return slots_[slot] - 1;
    return std::nullopt;
  }

  /// Takes the next number in. `hash_of` gives the hash of the thing that has a number, this one or an earlier.
  template <typename HashOf>
  std::uint32_t add(HashOf&& hash_of) {
    if (count_ == slots_.size() / 2) {
      slots_.assign(slots_.size() * 2, 0);
      for (std::uint32_t number = 0; number < count_; ++number) put(number, hash_of(number));
    }
    put(count_, hash_of(count_));
    return count_++;
  }

  void clear() {
    slots_.assign(first_slots, 0);
    count_ = 0;
  }

 private:
  static constexpr std::size_t first_slots = 512;

  std::size_t mask() const { return slots_.size() - 1; }
  void put(std::uint32_t number, std::uint64_t hash) {
    std::size_t slot = hash & mask();
    while (slots_[slot] != 0) slot = (slot + 1) & mask();
    slots_[slot] = number + 1;
  }

  std::vector<std::uint32_t> slots_;  ///< 0, or a number + 1
  std::uint32_t count_ = 0;
};

}  // namespace sframe_gen
