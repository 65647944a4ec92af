#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "sframe/format.hpp"
#include "sframe_gen/view.hpp"
#include "support/endian.hpp"
#include "unwind/section_reader.hpp"

namespace sframe_gen::sframe {

/// Where the look-ups of one page begin: the last function that starts at or before the page's first byte, or the first
/// of all, and of its rows the one that holds there. In 8 bytes, two to a PageSlot: half the memory is twice as much of
/// the table in a near cache.
struct PageStart {
  static constexpr unsigned function_bits = 24, row_bits = 28, number_bits = 12;
  static constexpr std::uint64_t most_functions = std::uint64_t{1} << function_bits;
  static constexpr std::uint64_t most_row_bytes = std::uint64_t{1} << row_bits;
  static constexpr std::uint32_t largest_number = (1U << number_bits) - 1;
  static constexpr std::size_t size = 8;  ///< bytes
  static constexpr std::size_t per_slot = sizeof(PageSlot) / size;

  std::uint32_t function = 0;
  std::uint32_t row = 0;         ///< offset in the row sub-section
  std::uint32_t row_number = 0;  ///< of the function's rows
};

/// Slots need the alignment of 32 bits only.
inline PageStart page_start(const PageSlot* slots, std::uint64_t page) {
  std::uint64_t word = 0;
  std::memcpy(&word, reinterpret_cast<const std::byte*>(slots) + page * PageStart::size, PageStart::size);
  return {static_cast<std::uint32_t>(word >> (PageStart::row_bits + PageStart::number_bits)),
          static_cast<std::uint32_t>(word >> PageStart::number_bits & (PageStart::most_row_bytes - 1)),
          static_cast<std::uint32_t>(word & PageStart::largest_number)};
}

inline void set_page_start(PageSlot* slots, std::uint64_t page, const PageStart& start) {
  const std::uint64_t word = std::uint64_t{start.function} << (PageStart::row_bits + PageStart::number_bits) |
                             std::uint64_t{start.row} << PageStart::number_bits | start.row_number;
  std::memcpy(reinterpret_cast<std::byte*>(slots) + page * PageStart::size, &word, PageStart::size);
}

/// What nearly every look-up on x86-64 comes to where there is a table of pages: few functions in the page, row starts
/// that count up, a default row. It waits for the table, and then for descriptor and rows at once; meanwhile the
/// processor begins with the next look-ups, as many as its buffers hold instructions of. So these are few. What mostly
/// goes one way is a branch: a right guess lets loads begin that a conditional move would have wait (without a branch
/// for any choice it took as long as the general code).
template <typename Reader>
class UsualLookup {
 public:
  /// Others read their fields in another way.
  static constexpr bool exists =
      Reader::is_plain && host_endian == Endian::Little && Reader::traits.first_fre_type == 0;

  UsualLookup(const Reader& reader, const detail::ViewFields& fields) : reader_(reader), fields_(fields) {}

  /// False: it is another case, and `found` as it was.
  [[gnu::always_inline]] bool find(std::uint64_t pc, Lookup& found) const {
    const std::uint64_t distance = pc - fields_.pages_begin;
    if (fields_.abi != &amd64_traits || distance >= fields_.pages_size) return false;
    const std::uint64_t page = distance >> fields_.page_shift;
    const PageStart begin = page_start(fields_.pages, page), end = page_start(fields_.pages, page + 1);
    // Otherwise they would be asked for only once the descriptor is there.
    __builtin_prefetch(fields_.rows + begin.row);
    __builtin_prefetch(fields_.rows + end.row);
    if (end.function - begin.function > most_others) [[unlikely]] {
      return false;
    }
    std::uint32_t number = begin.function;
    while (number != end.function && reader_.start_of(number + 1) <= pc) ++number;
    const ViewFunction function = reader_.function_at(number);
    Row row;
    if (pc - function.start >= function.size || !is_usual(function)) [[unlikely]] {
      return false;
    }
    if (!find_row({number, function, pc - function.start}, begin, end, row)) [[unlikely]] {
      return false;
    }
    read_rules(function, row, found.row);
    found.kind = Lookup::Kind::Row;
    found.function_start = function.start;
    found.function_size = function.size;
    found.descriptor = number;
    found.row_number = row.number;
    return true;
  }

 private:
  static constexpr std::uint32_t most_others = 7;
  static constexpr unsigned most_words = 2;
  /// Of a row of two words, and the start of the next one.
  static constexpr std::uint64_t most_bytes = 4 + 1 + most_words * 4 + 4;

  struct Wanted {
    std::uint32_t number;
    const ViewFunction& function;
    std::uint64_t offset;  ///< of the PC, from the function's start
  };
  struct Row {
    std::uint64_t at = 0;  ///< offset in the row sub-section
    std::uint32_t number = 0;
    FreInfo info{0};
    const std::byte* words = nullptr;
  };

  bool is_usual(const ViewFunction& function) const {
    return function.first_row != nullptr && function.info2.fde_type() == 0 &&
           function.info.pc_type() == PcType::Increment &&
           function.info.fre_type() <= static_cast<unsigned>(FreAddressWidth::Four);
  }

  bool fits(std::uint64_t row) const { return row + most_bytes <= fields_.rows_size; }

  static std::uint32_t start_mask(unsigned width) {
    if (width == 2) [[likely]] {
      return 0xffff;
    }
    return width == 1 ? 0xff : 0xffffffff;
  }
  std::uint32_t start_at(std::uint64_t row, std::uint32_t mask) const {
    return read_field<std::uint32_t, false>(fields_.rows + row) & mask;
  }

  /// A page that a function begins in has most of its rows there, and most PCs behind them: so the row at the end of
  /// the page is tried first.
  [[gnu::always_inline]] bool find_row(const Wanted& wanted, const PageStart& begin, const PageStart& end,
                                       Row& row) const {
    const unsigned width = 1U << wanted.function.info.fre_type();
    const std::uint32_t mask = start_mask(width);
    row.at = static_cast<std::uint64_t>(wanted.function.first_row - fields_.rows);
    if (!fits(end.row)) [[unlikely]] {
      return false;
    }
    if (wanted.number == end.function && start_at(end.row, mask) <= wanted.offset) {
      row = {end.row, end.row_number};
    } else if (wanted.number == begin.function) {
      row = {begin.row, begin.row_number};
    }
    if (!fits(row.at) || row.number >= wanted.function.row_count || start_at(row.at, mask) > wanted.offset)
        [[unlikely]] {
      return false;
    }
    for (;; ++row.number) {
      row.info = FreInfo(read_field<std::uint8_t, false>(fields_.rows + row.at + width));
      const unsigned words = row.info.word_count(), word_width = row.info.word_width();
      if (words - 1 >= most_words || word_width > static_cast<unsigned>(DataWordWidth::Four)) [[unlikely]] {
        return false;
      }
      row.words = fields_.rows + row.at + width + 1;
      const std::uint64_t next = row.at + width + 1 + (words << word_width);
      if (row.number + 1 >= wanted.function.row_count || start_at(next, mask) > wanted.offset) return true;
      row.at = next;
      if (!fits(next)) [[unlikely]] {
        return false;
      }
    }
  }

  [[gnu::always_inline]] void read_rules(const ViewFunction& function, const Row& row, UnwindRow& rules) const {
    // Both words at once: the CFA's, and where there is one the FP's.
    const auto words = read_field<std::uint64_t, false>(row.words);
    const unsigned bits = 8U << row.info.word_width();
    const std::uint32_t fp_saved = 0U - (row.info.word_count() - 1);  // all bits, or none
    rules.cfa = {row.info.base_is_sp() ? amd64_traits.stack_pointer : amd64_traits.frame_pointer,
                 signed_word(words << (64 - bits), bits), false};
    rules.return_address = {UnwindRule::cfa, amd64_traits.fixed_ra_offset, true};
    rules.frame_pointer = {
        fp_saved | amd64_traits.frame_pointer,
        static_cast<std::int32_t>(static_cast<std::uint32_t>(signed_word(words << (64 - 2 * bits), bits)) & fp_saved),
        fp_saved != 0};
    static_assert(UnwindRule::cfa == 0xffffffff);
    rules.mangled_ra = row.info.mangled_ra();
    rules.b_key = function.info.b_key();
    rules.signal_frame = Reader::traits.marks_signal_frames && function.info.signal_frame();
  }

  /// The upper `bits` of a number.
  static std::int32_t signed_word(std::uint64_t upper, unsigned bits) {
    return static_cast<std::int32_t>(static_cast<std::int64_t>(upper) >> (64 - bits));
  }

  const Reader& reader_;
  const detail::ViewFields& fields_;
};

}  // namespace sframe_gen::sframe
