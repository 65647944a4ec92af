#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "unwind/packed_row.hpp"

namespace sframe_gen::unwind {

/// Rows by PC, each in the one slot that its PC leads to, with a number that its owner may give it. The low half of a
/// slot's first word counts its writes, twice each: odd while one is under way, so a reader that sees the same even
/// count before and after has read one write's words (a sequence lock); the high half is the number. Nobody waits: who
/// finds a slot busy does without it, and so may have interrupted whoever writes it.
class RowCache {
 public:
  /// A number of slots that is no power of two is cut to the next lower one.
  explicit RowCache(std::span<RowSlot> slots) : slots_(slots.data()), mask_(std::bit_floor(slots.size()) - 1) {
    if (slots.empty()) slots_ = nullptr;
  }

  bool find(std::uint64_t pc, PackedRow& row, std::uint32_t& number) const {
    if (slots_ == nullptr) return false;
    const std::uint64_t* const words = slots_[slot_of(pc)].words;
    const std::uint64_t first = __atomic_load_n(&words[0], __ATOMIC_ACQUIRE);
    const std::uint64_t owner = __atomic_load_n(&words[1], __ATOMIC_RELAXED);
    const std::uint64_t halves[2]{__atomic_load_n(&words[2], __ATOMIC_RELAXED),
                                  __atomic_load_n(&words[3], __ATOMIC_RELAXED)};
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    const bool whole = first != 0 && first % 2 == 0 && __atomic_load_n(&words[0], __ATOMIC_RELAXED) == first;
    if (owner != pc || !whole) return false;
    std::memcpy(&row, halves, sizeof row);
    number = static_cast<std::uint32_t>(first >> 32U);
    return true;
  }

  void put(std::uint64_t pc, const PackedRow& row, std::uint32_t number) const {
    if (slots_ == nullptr) return;
    std::uint64_t* const words = slots_[slot_of(pc)].words;
    std::uint64_t first = __atomic_load_n(&words[0], __ATOMIC_RELAXED);
    if (first % 2 != 0) return;
    if (!__atomic_compare_exchange_n(&words[0], &first, first + 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return;
    __atomic_thread_fence(__ATOMIC_RELEASE);
    std::uint64_t halves[2];
    std::memcpy(halves, &row, sizeof row);
    __atomic_store_n(&words[1], pc, __ATOMIC_RELAXED);
    __atomic_store_n(&words[2], halves[0], __ATOMIC_RELAXED);
    __atomic_store_n(&words[3], halves[1], __ATOMIC_RELAXED);
    // Never 0, which is an empty slot.
    const std::uint32_t writes =
        (static_cast<std::uint32_t>(first) + 2) | (static_cast<std::uint32_t>(first) + 2 == 0 ? 2 : 0);
    __atomic_store_n(&words[0], std::uint64_t{number} << 32U | writes, __ATOMIC_RELEASE);
  }

 private:
  /// Return addresses of one function differ in few of their low bits; a multiplication spreads them over the high ones
  /// (Fibonacci hashing).
  std::size_t slot_of(std::uint64_t pc) const { return (pc * 0x9e3779b97f4a7c15U >> 32U) & mask_; }

  RowSlot* slots_;
  std::size_t mask_;
};

}  // namespace sframe_gen::unwind
