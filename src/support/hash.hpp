#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
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

/// Returns the hash of a sequence from the hash of all values but the last, and the last.
constexpr std::uint64_t chained(std::uint64_t hash, std::uint64_t value) {
  return mixed(hash * 0x9e3779b97f4a7c15U + value);
}

/// Returns a number that differs from run to run, the seed of hashes that only find things: no file can be made whose
/// things have equal hashes. The seed of hashes that output depends on is a constant.
std::uint64_t seed_of_run();

std::uint64_t hash_of_bytes(std::span<const std::byte> bytes, std::uint64_t seed);

/// A hash for tables whose keys are in files: libstdc++'s is the same in every run (and of a number the number itself),
/// so a file could choose keys that collide.
struct SeededHash {
  std::uint64_t seed = seed_of_run();

  std::size_t operator()(std::string_view text) const { return hash_of_bytes(std::as_bytes(std::span(text)), seed); }
  std::size_t operator()(std::integral auto number) const { return mixed(static_cast<std::uint64_t>(number) ^ seed); }
};

template <typename Key, typename Value>
using SeededMap = std::unordered_map<Key, Value, SeededHash>;

/// XXH3, 128 bits, in its canonical byte order, as `xxh128sum` prints it. Finds accidental changes at the speed of
/// memory, and does not protect from forgery.
using Digest = std::array<std::byte, 16>;

/// Digests bytes that come in pieces.
class Digester {
 public:
  Digester();
  void update(std::span<const std::byte> bytes);
  /// Adds `size` zeros, as a hole of a file reads.
  void update_zeros(std::uint64_t size);
  Digest digest() const;

 private:
  struct State;
  struct Free {
    void operator()(State* state) const;
  };
  std::unique_ptr<State, Free> state_;
};

/// Numbers things from 0, and finds the numbers by the hashes of the things.
class HashedNumbers {
 public:
  HashedNumbers() : slots_(first_slots) {}

  /// Returns the number of a thing with this hash for which `is_it` returns true.
  template <typename IsIt>
  std::optional<std::uint32_t> find(std::uint64_t hash, IsIt&& is_it) const {
    const auto kept = static_cast<std::uint32_t>(hash);
    for (std::size_t at = kept & mask(); slots_[at].next != 0; at = (at + 1) & mask())
      if (slots_[at].hash == kept && is_it(slots_[at].next - 1)) return slots_[at].next - 1;
    return std::nullopt;
  }

  /// Returns the next number, which becomes that of a thing with this hash.
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

  /// Keeps the hash, so that the table grows without hashing again.
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t next = 0;  ///< the slot's number + 1; 0: it is free
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
