#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "sframe/format.hpp"
#include "sframe_gen/unwind.hpp"
#include "sframe_gen/view.hpp"

namespace sframe_gen::unwind {

/// A row in 16 bytes, as steps take it: bases are indices into a frame's registers.
struct PackedRow {
  static constexpr std::uint8_t cfa = 32;      ///< as a base
  static constexpr std::uint8_t unknown = 33;  ///< a register that no frame knows
  static constexpr std::uint8_t cfa_dereferenced = 1, ra_dereferenced = 2, fp_dereferenced = 4, mangled_ra = 8,
                                signal_frame = 16, outermost = 32;
  /// The row of nearly every function: CFA = SP or FP + offset, RA = *(CFA + offset), FP = *(CFA + offset) or
  /// unchanged.
  static constexpr std::uint8_t common = 64, cfa_from_fp = 128;

  std::int32_t cfa_offset = 0, ra_offset = 0, fp_offset = 0;
  std::uint8_t cfa_base = unknown, ra_base = unknown, fp_base = unknown;
  std::uint8_t flags = 0;

  bool has(std::uint8_t flag) const { return (flags & flag) != 0; }
};
static_assert(sizeof(PackedRow) == 16);

inline std::uint8_t packed_base(std::uint32_t base) {
  if (base == sframe::UnwindRule::cfa) return PackedRow::cfa;
  return base < Registers::count ? static_cast<std::uint8_t>(base) : PackedRow::unknown;
}

/// Which of the two flags of the common form a row has.
inline std::uint8_t common_form(const PackedRow& row, const sframe::AbiTraits& abi) {
  const bool unusual = row.has(PackedRow::cfa_dereferenced | PackedRow::mangled_ra | PackedRow::signal_frame);
  const bool from_fp = row.cfa_base == abi.frame_pointer;
  const bool ra_saved = row.ra_base == PackedRow::cfa && row.has(PackedRow::ra_dereferenced);
  const bool fp_saved = row.fp_base == PackedRow::cfa && row.has(PackedRow::fp_dereferenced);
  const bool fp_kept = row.fp_base == abi.frame_pointer && row.fp_offset == 0 && !row.has(PackedRow::fp_dereferenced);
  if (unusual || !ra_saved || !(fp_saved || fp_kept) || !(from_fp || row.cfa_base == abi.stack_pointer)) return 0;
  return from_fp ? PackedRow::common | PackedRow::cfa_from_fp : PackedRow::common;
}

inline PackedRow packed(const sframe::UnwindRow& row, const sframe::AbiTraits& abi) {
  PackedRow made;
  made.cfa_offset = row.cfa.offset;
  made.ra_offset = row.return_address.offset;
  made.fp_offset = row.frame_pointer.offset;
  made.cfa_base = packed_base(row.cfa.base);
  made.ra_base = packed_base(row.return_address.base);
  made.fp_base = packed_base(row.frame_pointer.base);
  if (row.cfa.dereferenced) made.flags |= PackedRow::cfa_dereferenced;
  if (row.return_address.dereferenced) made.flags |= PackedRow::ra_dereferenced;
  if (row.frame_pointer.dereferenced) made.flags |= PackedRow::fp_dereferenced;
  if (row.mangled_ra) made.flags |= PackedRow::mangled_ra;
  if (row.signal_frame) made.flags |= PackedRow::signal_frame;
  made.flags |= common_form(made, abi);
  return made;
}

/// What a section says of `pc`, an address as the view knows it.
inline Stop find_row(const sframe::SectionView& view, const sframe::AbiTraits& abi, std::uint64_t pc, PackedRow& row) {
  const sframe::Lookup found = view.lookup(pc);
  switch (found.kind) {
    case sframe::Lookup::Kind::Nothing:
      return Stop::NoRow;
    case sframe::Lookup::Kind::Damaged:
      return Stop::BadSection;
    case sframe::Lookup::Kind::Outermost:
      row = {};
      row.flags = PackedRow::outermost;
      return Stop::Stepped;
    case sframe::Lookup::Kind::Row:
      break;
  }
  row = packed(found.row, abi);
  return Stop::Stepped;
}

/// Rows by PC, each in the one slot that its PC leads to, with a number that its owner may give it, and the slot of the
/// row that was asked for next when it was new: stacks have much in common, and a row in that slot is found without
/// waiting for the PC that it is of. The low half of a slot's first word counts its writes, twice each: odd while one
/// is under way, so a reader that sees the same even count before and after has read one write's words (a sequence
/// lock); above it are the number and the next slot, of 16 bits each. Lock-free: a busy slot counts as a
/// miss, so a signal handler may interrupt a writer.
class RowCache {
 public:
  struct Found {
    std::uint32_t slot = 0;    ///< where it is, or would be
    std::uint32_t next = 0;    ///< the slot of the row that was asked for after it; 0: none was
    std::uint32_t number = 0;  ///< its owner's
  };
  static constexpr std::uint32_t most_numbers = 1U << 16U;

  /// A number of slots that is no power of two is cut to the next lower one.
  explicit RowCache(std::span<RowSlot> slots) : slots_(slots.data()), mask_(std::bit_floor(slots.size()) - 1) {
    if (slots.empty()) slots_ = nullptr;
  }

  /// `guess`: the slot that it is looked for in first.
  bool find(std::uint64_t pc, std::uint32_t guess, PackedRow& row, Found& found) const {
    if (slots_ == nullptr) return false;
    if (guess != 0 && guess <= mask_ && find_in(guess, pc, row, found)) [[likely]] {
      return true;
    }
    return find_in(slot_of(pc), pc, row, found);
  }

  /// In that slot only, which is one that was found once.
  bool find_in(std::uint32_t slot, std::uint64_t pc, PackedRow& row, Found& found) const {
    const std::uint64_t* const words = slots_[slot].words;
    const std::uint64_t first = __atomic_load_n(&words[0], __ATOMIC_ACQUIRE);
    const std::uint64_t owner = __atomic_load_n(&words[1], __ATOMIC_RELAXED);
    const std::uint64_t halves[2]{__atomic_load_n(&words[2], __ATOMIC_RELAXED),
                                  __atomic_load_n(&words[3], __ATOMIC_RELAXED)};
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    const bool whole = first != 0 && first % 2 == 0 && __atomic_load_n(&words[0], __ATOMIC_RELAXED) == first;
    if (owner != pc || !whole) return false;
    std::memcpy(&row, halves, sizeof row);
    found = {slot, static_cast<std::uint32_t>(first >> next_shift),
             static_cast<std::uint32_t>(first >> number_shift & (most_numbers - 1))};
    return true;
  }

  std::uint32_t put(std::uint64_t pc, const PackedRow& row, std::uint32_t number) const {
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
    __atomic_store_n(&words[0], std::uint64_t{number} << 32U | (count != 0 ? count : 2), __ATOMIC_RELEASE);
    return slot;
  }

  /// The row in `slot` was followed by the one in `next`. Only the first that is said stays: a function that is called
  /// from many places would have its slot written by all threads, all the time.
  void follow(std::uint32_t slot, std::uint32_t next) const {
    std::uint64_t first = __atomic_load_n(&slots_[slot].words[0], __ATOMIC_RELAXED);
    if (first == 0 || first % 2 != 0 || first >> next_shift != 0 || next >= most_numbers) return;
    __atomic_compare_exchange_n(&slots_[slot].words[0], &first, first | std::uint64_t{next} << next_shift, false,
                                __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  }

 private:
  static constexpr unsigned number_shift = 32, next_shift = 48;

  /// Return addresses of one function differ in few of their low bits; a multiplication spreads them over the high ones
  /// (Fibonacci hashing).
  std::uint32_t slot_of(std::uint64_t pc) const {
    return static_cast<std::uint32_t>((pc * 0x9e3779b97f4a7c15U >> 32U) & mask_);
  }

  RowSlot* slots_;
  std::size_t mask_;
};

}  // namespace sframe_gen::unwind
