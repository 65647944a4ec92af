#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "sframe/format.hpp"
#include "sframe_gen/view.hpp"
#include "unwind/fields.hpp"
#include "unwind/view_records.hpp"

namespace sframe_gen::sframe {

/// From a function to the row for a PC.
template <Version number, bool swap>
class RowScan {
 public:
  explicit RowScan(const detail::ViewFields& fields) : fields_(fields) {}

  /// The row of a function whose stored start decides for `pc_offset`, counted from 0. `Nothing` before the first. The
  /// search begins at `from`, a row that starts at or before `pc_offset`, or the first.
  Lookup::Kind find_row(const ViewFunction& function, std::uint64_t pc_offset, RowPlace from, ViewFre& found,
                        std::uint32_t& row_number) const {
    if (function.first_row == nullptr) return Lookup::Kind::Damaged;
    switch (function.info.fre_type() - traits.first_fre_type) {
      case static_cast<unsigned>(FreAddressWidth::One):
        return scan<std::uint8_t>(function, pc_offset, from, found, row_number);
      case static_cast<unsigned>(FreAddressWidth::Two):
        return scan<std::uint16_t>(function, pc_offset, from, found, row_number);
      case static_cast<unsigned>(FreAddressWidth::Four):
        return scan<std::uint32_t>(function, pc_offset, from, found, row_number);
      default:
        return Lookup::Kind::Damaged;
    }
  }

  /// The last row of a function whose stored start is at most `pc_offset`, searched from `from` on; `from` if there is
  /// none. Not for functions whose row starts are bit masks.
  RowPlace last_row_before(const ViewFunction& function, std::uint64_t pc_offset, RowPlace from) const {
    switch (function.info.fre_type() - traits.first_fre_type) {
      case static_cast<unsigned>(FreAddressWidth::One):
        return advance<std::uint8_t>(function, pc_offset, from);
      case static_cast<unsigned>(FreAddressWidth::Two):
        return advance<std::uint16_t>(function, pc_offset, from);
      case static_cast<unsigned>(FreAddressWidth::Four):
        return advance<std::uint32_t>(function, pc_offset, from);
      default:
        return from;
    }
  }

  /// The stored start of a function's first row behind `pc_offset`; 2^64 - 1 if there is none. Not for functions whose
  /// row starts are bit masks.
  std::uint64_t next_row_start(const ViewFunction& function, std::uint64_t pc_offset) const {
    switch (function.info.fre_type() - traits.first_fre_type) {
      case static_cast<unsigned>(FreAddressWidth::One):
        return first_start_behind<std::uint8_t>(function, pc_offset);
      case static_cast<unsigned>(FreAddressWidth::Two):
        return first_start_behind<std::uint16_t>(function, pc_offset);
      case static_cast<unsigned>(FreAddressWidth::Four):
        return first_start_behind<std::uint32_t>(function, pc_offset);
      default:
        return UINT64_MAX;
    }
  }

  /// The row at `at`. False: it does not lie in the section, or its words have no size.
  template <std::unsigned_integral Start>
  bool read_row(const std::byte* at, ViewFre& row) const {
    const std::byte* const end = fields_.rows + fields_.rows_size;
    if (static_cast<std::uint64_t>(end - at) < sizeof(Start) + 1) return false;
    row.start = read_field<Start, swap>(at);
    row.info = FreInfo(read_field<std::uint8_t, swap>(at + sizeof(Start)));
    row.words = at + sizeof(Start) + 1;
    if (row.info.word_width() > static_cast<unsigned>(DataWordWidth::Four)) return false;
    const std::uint64_t word_bytes = std::uint64_t{row.info.word_count()} << row.info.word_width();
    if (static_cast<std::uint64_t>(end - row.words) < word_bytes) return false;
    row.next = row.words + word_bytes;
    return true;
  }

 private:
  static constexpr VersionTraits traits = traits_of(number);

  template <std::unsigned_integral Start>
  Lookup::Kind scan(const ViewFunction& function, std::uint64_t pc_offset, RowPlace from, ViewFre& found,
                    std::uint32_t& row_number) const {
    if (function.info.pc_type() == PcType::Mask) {
      if constexpr (!traits.has_repeat_size) return scan_bit_masks<Start>(function, pc_offset, found, row_number);
      if (function.repeat_size == 0) return Lookup::Kind::Damaged;
      pc_offset %= function.repeat_size;
    }
    auto at = static_cast<std::uint64_t>(from.at - fields_.rows);
    std::uint64_t last = at;
    std::uint32_t i = from.number;
    std::uint64_t stride = 0;
    unsigned info_of_stride = 0x100;  // no row's
    for (; i < function.row_count; ++i) {
      if (at + sizeof(Start) + 1 > fields_.rows_size) return Lookup::Kind::Damaged;
      if (read_field<Start, swap>(fields_.rows + at) > pc_offset) break;
      last = at;
      const unsigned info = read_field<std::uint8_t, swap>(fields_.rows + at + sizeof(Start));
      // Neighbours are mostly alike. Guessed so, the next row's place does not wait for this one's bytes.
      if (info != info_of_stride) [[unlikely]] {
        info_of_stride = info;
        const FreInfo row(static_cast<std::uint8_t>(info));
        stride = sizeof(Start) + 1 + (std::uint64_t{row.word_count()} << row.word_width());
      }
      at += stride;
    }
    if (i == from.number) return Lookup::Kind::Nothing;
    row_number = i - 1;
    return read_row<Start>(fields_.rows + last, found) ? Lookup::Kind::Row : Lookup::Kind::Damaged;
  }

  template <std::unsigned_integral Start>
  RowPlace advance(const ViewFunction& function, std::uint64_t pc_offset, RowPlace from) const {
    RowPlace last = from;
    ViewFre row;
    for (RowPlace at = from; at.number < function.row_count; at = {row.next, at.number + 1}) {
      if (!read_row<Start>(at.at, row) || row.start > pc_offset) break;
      last = at;
    }
    return last;
  }

  template <std::unsigned_integral Start>
  std::uint64_t first_start_behind(const ViewFunction& function, std::uint64_t pc_offset) const {
    ViewFre row;
    RowPlace at{function.first_row, 0};
    for (; at.number < function.row_count && read_row<Start>(at.at, row); at = {row.next, at.number + 1})
      if (row.start > pc_offset) return row.start;
    return UINT64_MAX;
  }

  /// CTF Frame and version 1: of the rows that match, the last one holds.
  template <std::unsigned_integral Start>
  Lookup::Kind scan_bit_masks(const ViewFunction& function, std::uint64_t pc_offset, ViewFre& found,
                              std::uint32_t& row_number) const {
    Lookup::Kind kind = Lookup::Kind::Nothing;
    const std::byte* at = function.first_row;
    ViewFre row;
    for (std::uint32_t i = 0; i < function.row_count; ++i, at = row.next) {
      if (!read_row<Start>(at, row)) return Lookup::Kind::Damaged;
      if ((pc_offset & row.start) < row.start) continue;
      found = row;
      row_number = i;
      kind = Lookup::Kind::Row;
    }
    return kind;
  }

  const detail::ViewFields& fields_;
};

}  // namespace sframe_gen::sframe
