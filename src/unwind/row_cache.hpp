#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "sframe_gen/unwind.hpp"
#include "unwind/walk.hpp"

namespace sframe_gen::unwind {

/// Rows by PC, each in the one slot that its PC leads to. A slot also holds a tag of 32 bits. Of the caller's own
/// program it is the index of the row's module, and the slot of the row that was asked for next when it was new: stacks
/// have much in common, and a row in that slot is read without waiting for the PC that it is of. Those slots belong to
/// one list of modules. Of other programs it is the generation of the modules, with which they may change.
///
/// The low half of a slot's first word counts its writes, twice each: odd while one is under way, so a reader that sees
/// the same even count before and after has read one write's words (a sequence lock). Above it is the tag.
/// Lock-free: a busy slot counts as a miss, so a signal handler may interrupt a writer.
class RowCache {
 public:
  struct Place {
    std::uint32_t slot = 0;    ///< where the row is, or would be
    std::uint32_t next = 0;    ///< that of the row that was asked for after it, if not 0
    std::uint32_t module = 0;  ///< index, modulo most_modules
  };
  static std::uint32_t tag_of_module(std::size_t index) { return static_cast<std::uint32_t>(index % most_modules); }

  /// A number of slots that is no power of two is cut to the next lower one.
  explicit RowCache(std::span<RowSlot> slots) : slots_(slots.data()), mask_(std::bit_floor(slots.size()) - 1) {
    if (slots.empty()) slots_ = nullptr;
  }

  bool find(std::uint64_t pc, PackedRow& row, Place& place) const {
    return slots_ != nullptr && read(slot_of(pc), pc, row, place);
  }

  /// Finds a row that was put with this tag.
  bool find_tagged(std::uint64_t pc, std::uint32_t tag, PackedRow& row) const {
    std::uint64_t first = 0;
    return slots_ != nullptr && read_slot(slot_of(pc), pc, row, first) && first >> module_shift == tag;
  }

  /// Reads a slot that another row's place names as the next one. False: it has no row of `pc`.
  bool read(std::uint32_t slot, std::uint64_t pc, PackedRow& row, Place& place) const {
    std::uint64_t first = 0;
    if (!read_slot(slot, pc, row, first)) return false;
    place = {slot, static_cast<std::uint32_t>(first >> next_shift),
             static_cast<std::uint32_t>(first >> module_shift & (most_modules - 1))};
    return true;
  }

  /// Returns the slot, or 0 if the row was not kept.
  std::uint32_t put(std::uint64_t pc, const PackedRow& row, std::uint32_t tag) const {
    if (slots_ == nullptr) return 0;
    const std::uint32_t slot = slot_of(pc);
    std::uint64_t* const words = slots_[slot].words;
    std::uint64_t first = __atomic_load_n(&words[0], __ATOMIC_RELAXED);
    if (first % 2 != 0) return 0;
    if (!__atomic_compare_exchange_n(&words[0], &first, first + 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return 0;
    __atomic_thread_fence(__ATOMIC_RELEASE);
    std::uint64_t halves[2];
    std::memcpy(halves, &row, sizeof row);
    __atomic_store_n(&words[1], pc, __ATOMIC_RELAXED);
    __atomic_store_n(&words[2], halves[0], __ATOMIC_RELAXED);
    __atomic_store_n(&words[3], halves[1], __ATOMIC_RELAXED);
    // Never 0, which is an empty slot.
    const std::uint32_t count = static_cast<std::uint32_t>(first) + 2;
    __atomic_store_n(&words[0], std::uint64_t{tag} << module_shift | (count != 0 ? count : 2), __ATOMIC_RELEASE);
    return slot;
  }

  /// The row in `slot` was followed by the one in `next`. Only the first that is said stays: a function that is called
  /// from many places would have its slot written by all threads, all the time. Without links, a frame of another
  /// function takes 1.8 times as long (docs/performance.md).
  void link(std::uint32_t slot, std::uint32_t next) const {
    std::uint64_t first = __atomic_load_n(&slots_[slot].words[0], __ATOMIC_RELAXED);
    if (first == 0 || first % 2 != 0 || first >> next_shift != 0 || next >> (64 - next_shift) != 0) return;
    __atomic_compare_exchange_n(&slots_[slot].words[0], &first, first | std::uint64_t{next} << next_shift, false,
                                __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  }

 private:
  static constexpr unsigned module_shift = 32, module_bits = 16, next_shift = module_shift + module_bits;
  static constexpr std::uint32_t most_modules = 1U << module_bits;

  bool read_slot(std::uint32_t slot, std::uint64_t pc, PackedRow& row, std::uint64_t& first) const {
    const std::uint64_t* const words = slots_[slot].words;
    first = __atomic_load_n(&words[0], __ATOMIC_ACQUIRE);
    const std::uint64_t owner = __atomic_load_n(&words[1], __ATOMIC_RELAXED);
    const std::uint64_t halves[2]{__atomic_load_n(&words[2], __ATOMIC_RELAXED),
                                  __atomic_load_n(&words[3], __ATOMIC_RELAXED)};
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    const bool whole = first != 0 && first % 2 == 0 && __atomic_load_n(&words[0], __ATOMIC_RELAXED) == first;
    if (owner != pc || !whole) return false;
    std::memcpy(&row, halves, sizeof row);
    return true;
  }

  /// Return addresses of one function differ in few of their low bits; a multiplication spreads them over the high ones
  /// (Fibonacci hashing).
  std::uint32_t slot_of(std::uint64_t pc) const {
    return static_cast<std::uint32_t>((pc * 0x9e3779b97f4a7c15U >> 32U) & mask_);
  }

  RowSlot* slots_;
  std::size_t mask_;
};

}  // namespace sframe_gen::unwind
