#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "sframe/format.hpp"
#include "sframe_gen/view.hpp"
#include "support/endian.hpp"

/// A section in place: its descriptors, rows and rules. Nothing here allocates, throws or calls into another library,
/// and nothing outside the section is read, whatever its bytes are.
namespace sframe_gen::sframe {

/// A function's descriptor, and its attribute where the version splits the two.
struct ViewFunction {
  std::uint64_t start = 0;
  std::uint32_t size = 0;     ///< bytes
  std::uint32_t rows_at = 0;  ///< offset in the row sub-section, of the attribute if there is one
  std::uint32_t row_count = 0;
  FdeInfo info{0};
  FdeInfo2 info2{0};
  std::uint8_t repeat_size = 0;
  std::uint16_t padding = 0;             ///< version 2: after the repeat size
  const std::byte* first_row = nullptr;  ///< null: the attribute is not inside the section

  bool is_flexible() const { return info2.fde_type() == static_cast<unsigned>(FdeType::Flexible); }
};

/// A row's bytes.
struct ViewFre {
  std::uint32_t start = 0;  ///< as stored
  FreInfo info{0};
  const std::byte* words = nullptr;
  const std::byte* next = nullptr;
};

/// One of a function's rows.
struct RowPlace {
  const std::byte* at = nullptr;
  std::uint32_t number = 0;
};

enum class RowState : std::uint8_t { Rules, Outermost, Damaged };

/// Reads a field. `swap`: the section's byte order is not the host's.
template <std::unsigned_integral T, bool swap>
T read_field(const std::byte* at) {
  T value = 0;
  std::memcpy(&value, at, sizeof(T));
  return swap ? swapped(value) : value;
}

/// The words of one row, in order; they are inside the section.
template <bool swap>
class Words {
 public:
  explicit Words(const ViewFre& fre) : at_(fre.words), left_(fre.info.word_count()), width_(fre.info.word_width()) {}

  unsigned left() const { return left_; }
  std::uint32_t next_unsigned() {
    const std::uint32_t four = next_four();
    return is_little ? four >> unused_bits() : four << unused_bits() >> unused_bits();
  }
  std::int32_t next_signed() {
    const std::uint32_t four = next_four();
    return static_cast<std::int32_t>(is_little ? four : four << unused_bits()) >> unused_bits();
  }

 private:
  static constexpr bool is_little = (host_endian == Endian::Little) != swap;

  unsigned unused_bits() const { return 32 - (8U << width_); }
  /// Returns the four bytes that the next word ends, without a branch on the width. A header precedes all words.
  std::uint32_t next_four() {
    --left_;
    at_ += 1U << width_;
    return read_field<std::uint32_t, swap>(at_ - sizeof(std::uint32_t));
  }

  const std::byte* at_;
  unsigned left_;
  unsigned width_;
};

/// Reads rows.
template <Version number, bool swap>
class RowScan {
 public:
  explicit RowScan(const detail::ViewFields& fields) : fields_(fields) {}

  /// Calls `visit` with a number of the type that the function's row starts have. Returns `undefined` if the function
  /// names no such type.
  template <typename Result, typename Visit>
  static Result with_start_type(const ViewFunction& function, Result undefined, Visit&& visit) {
    switch (function.info.fre_type() - traits.first_fre_type) {
      case static_cast<unsigned>(FreAddressWidth::One):
        return visit(std::uint8_t{});
      case static_cast<unsigned>(FreAddressWidth::Two):
        return visit(std::uint16_t{});
      case static_cast<unsigned>(FreAddressWidth::Four):
        return visit(std::uint32_t{});
      default:
        return undefined;
    }
  }

  /// Finds the row of a function whose stored start decides for `pc_offset`, counted from 0: `Nothing` before the
  /// first. The search begins at `from`, which is the first row or any other one that starts at or before `pc_offset`.
  Lookup::Kind find_row(const ViewFunction& function, std::uint64_t pc_offset, RowPlace from, ViewFre& found,
                        std::uint32_t& row_number) const {
    if (function.first_row == nullptr) return Lookup::Kind::Damaged;
    return with_start_type(function, Lookup::Kind::Damaged, [&](auto start) {
      return scan<decltype(start)>(function, pc_offset, from, found, row_number);
    });
  }

  /// Returns the last row of a function whose stored start is at most `pc_offset`, searched from `from` on; `from` if
  /// there is none. Not for functions whose row starts are bit masks.
  RowPlace last_row_before(const ViewFunction& function, std::uint64_t pc_offset, RowPlace from) const {
    return with_start_type(function, from, [&](auto start) {
      RowPlace last = from;
      ViewFre row;
      for (RowPlace at = from; at.number < function.row_count; at = {row.next, at.number + 1}) {
        if (!read_row<decltype(start)>(at.at, row) || row.start > pc_offset) break;
        last = at;
      }
      return last;
    });
  }

  /// Returns the stored start of a function's first row after `pc_offset`; 2^64 - 1 if there is none. Not for functions
  /// whose row starts are bit masks.
  std::uint64_t next_row_start(const ViewFunction& function, std::uint64_t pc_offset) const {
    return with_start_type(function, UINT64_MAX, [&](auto start) -> std::uint64_t {
      ViewFre row;
      RowPlace at{function.first_row, 0};
      for (; at.number < function.row_count && read_row<decltype(start)>(at.at, row); at = {row.next, at.number + 1})
        if (row.start > pc_offset) return row.start;
      return UINT64_MAX;
    });
  }

  /// Reads the row at `at`. False: it is not inside the section, or its words have no size.
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
      // Neighbors are mostly alike. Guessed so, the next row's place does not wait for this one's bytes.
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

/// Reads a row's words as rules.
template <Version number, bool swap>
class RuleReader {
 public:
  explicit RuleReader(const AbiTraits& abi) : abi_(abi) {}

  RowState rules_of(const ViewFunction& function, const ViewFre& fre, UnwindRow& row) const {
    if (fre.info.word_count() == 0) return traits.has_repeat_size ? RowState::Outermost : RowState::Damaged;
    row.mangled_ra = fre.info.mangled_ra();
    row.b_key = function.info.b_key();
    row.signal_frame = traits.marks_signal_frames && function.info.signal_frame();
    // What a row does not say.
    row.return_address = abi_.fixed_ra_offset != 0 ? UnwindRule{UnwindRule::cfa, abi_.fixed_ra_offset, true}
                                                   : UnwindRule{abi_.return_address, 0, false};
    row.frame_pointer = {abi_.frame_pointer, 0, false};
    Words<swap> words(fre);
    const bool sound = function.is_flexible() ? read_flexible(words, row) : read_default(words, fre.info, row);
    return sound ? RowState::Rules : RowState::Damaged;
  }

 private:
  static constexpr VersionTraits traits = traits_of(number);

  /// Reads the CFA's offset as its ABI stores it: s390x shifts it by 160 and counts in units of 8 (3.1.3).
  bool read_cfa_offset(Words<swap>& words, std::int32_t& offset) const {
    const std::int64_t wide = sframe::cfa_offset_of_word(words.next_signed(), abi_);
    offset = static_cast<std::int32_t>(wide);
    return wide == offset;
  }

  /// Reads an FP or RA word of a default row: an offset from the CFA, or on s390x up to version 2 the register whose
  /// number is in the word's upper bits.
  bool read_saved_where(std::int32_t word, UnwindRule& rule) const {
    if (has_register_words(traits, abi_) && (word & 1) != 0) {
      if (word < 0) return false;
      rule = {static_cast<std::uint32_t>(word) >> 1U, 0, false};
      return true;
    }
    rule = {UnwindRule::cfa, word, true};
    return true;
  }

  /// Reads the CFA, then where the ABI tracks it the RA, then the FP (3.1); CTF Frame has the FP before the RA.
  bool read_default(Words<swap>& words, FreInfo info, UnwindRow& row) const {
    if (words.left() > (abi_.tracks_return_address ? 3U : 2U)) return false;
    row.cfa = {info.base_is_sp() ? abi_.stack_pointer : abi_.frame_pointer, 0, false};
    if (!read_cfa_offset(words, row.cfa.offset)) return false;
    if (traits.frame_pointer_first && words.left() != 0 && !read_saved_where(words.next_signed(), row.frame_pointer)) {
      return false;
    }
    if (abi_.tracks_return_address && words.left() != 0) {
      const std::int32_t word = words.next_signed();
      const bool is_padding = word == 0 && abi_.pads_return_address;
      if (!is_padding && !read_saved_where(word, row.return_address)) return false;
    }
    return words.left() == 0 || read_saved_where(words.next_signed(), row.frame_pointer);
  }

  /// Reads a control word and its offset, or the one word 0 that replaces both where there is no rule (3.2), which
  /// leaves `rule` as it is and `present` false.
  bool read_rule(Words<swap>& words, bool is_cfa, UnwindRule& rule, bool& present) const {
    const ControlWord control(words.next_unsigned());
    present = !control.is_padding();
    if (!present) return true;
    const bool stray_register = !control.register_based() && control.register_number() != 0;
    if (control.reserved_bit_set() || stray_register || words.left() == 0) return false;
    rule.base = control.register_based() ? control.register_number() : UnwindRule::cfa;
    rule.dereferenced = control.dereferenced();
    if (is_cfa) return control.register_based() && read_cfa_offset(words, rule.offset);
    rule.offset = words.next_signed();
    return true;
  }

  bool read_flexible(Words<swap>& words, UnwindRow& row) const {
    bool ends_in_rule = false;
    if (!read_rule(words, true, row.cfa, ends_in_rule) || !ends_in_rule) return false;
    if (words.left() != 0 && !read_rule(words, false, row.return_address, ends_in_rule)) return false;
    if (words.left() != 0 && !read_rule(words, false, row.frame_pointer, ends_in_rule)) return false;
    // Padding only keeps the place of an RA rule before an FP rule.
    return words.left() == 0 && ends_in_rule;
  }

  const AbiTraits& abi_;
};

/// Reads descriptors, and by its bases rows and rules. One instance for each version and byte order, so that no field
/// asks for either.
template <Version number, bool swap>
class SectionReader : public RowScan<number, swap>, public RuleReader<number, swap> {
 public:
  static constexpr VersionTraits traits = traits_of(number);

  explicit SectionReader(const detail::ViewFields& fields)
      : RowScan<number, swap>(fields), RuleReader<number, swap>(*fields.abi), fields_(fields) {}

  std::uint64_t start_of(std::uint32_t function) const {
    const std::byte* const entry = entry_of(function);
    std::uint64_t distance = 0;
    if constexpr (traits.splits_descriptor) {
      distance = read_field<std::uint64_t, swap>(entry);
    } else {
      const auto narrow = static_cast<std::int32_t>(read_field<std::uint32_t, swap>(entry));
      distance = static_cast<std::uint64_t>(std::int64_t{narrow});
    }
    return fields_.starts_from + function * fields_.start_stride + distance;
  }

  std::uint32_t size_of(std::uint32_t function) const {
    return read_field<std::uint32_t, swap>(entry_of(function) + traits.start_size);
  }

  bool holds(std::uint32_t function, std::uint64_t pc) const {
    const std::uint64_t start = start_of(function);
    return pc >= start && pc - start < size_of(function);
  }

  ViewFunction function_at(std::uint32_t function) const {
    const std::byte* const entry = entry_of(function);
    ViewFunction found;
    found.start = start_of(function);
    found.size = size_of(function);
    if constexpr (traits.splits_descriptor) {
      found.rows_at = read_field<std::uint32_t, swap>(entry + fde_index::attribute_at);
      read_attribute(found);
    } else {
      found.rows_at = read_field<std::uint32_t, swap>(entry + 8);
      found.row_count = read_field<std::uint32_t, swap>(entry + 12);
      found.info = FdeInfo(read_field<std::uint8_t, swap>(entry + 16));
      if constexpr (traits.has_repeat_size) {
        // GNU ld writes the size of a PLT's entries for its head too, which does not repeat (seen with 2.44).
        if (found.info.pc_type() == PcType::Mask) found.repeat_size = read_field<std::uint8_t, swap>(entry + 17);
        found.padding = read_field<std::uint16_t, swap>(entry + 18);
      }
      if (found.rows_at <= fields_.rows_size) found.first_row = fields_.rows + found.rows_at;
    }
    return found;
  }

 private:
  const std::byte* entry_of(std::uint32_t function) const {
    return fields_.index + std::uint64_t{function} * traits.descriptor_size;
  }

  void read_attribute(ViewFunction& function) const {
    constexpr std::uint64_t attribute_size = 5;
    if (fields_.rows_size < attribute_size || function.rows_at > fields_.rows_size - attribute_size) return;
    const std::byte* const attribute = fields_.rows + function.rows_at;
    function.row_count = read_field<std::uint16_t, swap>(attribute);
    function.info = FdeInfo(read_field<std::uint8_t, swap>(attribute + fde_attribute::info_at));
    function.info2 = FdeInfo2(read_field<std::uint8_t, swap>(attribute + fde_attribute::info2_at));
    function.repeat_size = read_field<std::uint8_t, swap>(attribute + fde_attribute::repeat_size_at);
    function.first_row = attribute + attribute_size;
  }

  const detail::ViewFields& fields_;
};

/// Calls `visit` with the reader for a section of this version and byte order.
template <typename Visit>
auto with_reader(const detail::ViewFields& fields, Visit&& visit) {
  const bool swap = fields.endian != host_endian;
  // The version of nearly all sections, and of no other byte order than the host's.
  if (fields.version == Version::V3 && !swap) return visit(SectionReader<Version::V3, false>(fields));
  switch (fields.version) {
    case Version::CtfFrame:
      return swap ? visit(SectionReader<Version::CtfFrame, true>(fields))
                  : visit(SectionReader<Version::CtfFrame, false>(fields));
    case Version::V1:
      return swap ? visit(SectionReader<Version::V1, true>(fields)) : visit(SectionReader<Version::V1, false>(fields));
    case Version::V2:
      return swap ? visit(SectionReader<Version::V2, true>(fields)) : visit(SectionReader<Version::V2, false>(fields));
    case Version::V3:
      break;
  }
  return visit(SectionReader<Version::V3, true>(fields));
}

}  // namespace sframe_gen::sframe
