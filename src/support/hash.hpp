#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sframe_gen {

/// Spreads `value` over all bits (the finalizer of MurmurHash3). Equal on all hosts, so that equal input gives equal
/// bytes everywhere.
constexpr std::uint64_t mixed(std::uint64_t value) {
  value ^= value >> 33U;
  value *= 0xff51afd7ed558ccdU;
  value ^= value >> 33U;
  value *= 0xc4ceb9fe1a85ec53U;
  return value ^ value >> 33U;
}

/// The hash of what `hash` stands for with `value` behind it.
constexpr std::uint64_t chained(std::uint64_t hash, std::uint64_t value) {
  return mixed(hash * 0x9e3779b97f4a7c15U + value);
}

/// A value that is another in each run, and that no file can foresee: to begin hashes with that only find things, so
/// that nobody can make a file whose things all have the same. What output depends on begins with a constant.
std::uint64_t seed_of_run();

std::uint64_t hash_of_bytes(std::span<const std::byte> bytes, std::uint64_t seed);

/// For tables by what a file says: libstdc++'s own hash is the same in every run, of numbers they themselves, so that a
/// file could choose keys that all meet.
struct SeededHash {
  std::uint64_t seed = seed_of_run();

  std::size_t operator()(std::string_view text) const { return hash_of_bytes(std::as_bytes(std::span(text)), seed); }
  std::size_t operator()(std::integral auto number) const { return mixed(static_cast<std::uint64_t>(number) ^ seed); }
};

template <typename Key, typename Value>
using SeededMap = std::unordered_map<Key, Value, SeededHash>;

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
