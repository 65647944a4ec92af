#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "sframe/format.hpp"
#include "sframe_gen/view.hpp"
#include "support/endian.hpp"

/// The ABIs' facts without a call into another library: what walks stacks links to nothing.
namespace sframe_gen::sframe {

/// Null for a byte that no version's ABI has.
constexpr const AbiTraits* facts_of(std::uint8_t identifier) {
  switch (identifier) {
    case static_cast<std::uint8_t>(Abi::Aarch64Big):
      return &aarch64_big_traits;
    case static_cast<std::uint8_t>(Abi::Aarch64Little):
      return &aarch64_traits;
    case static_cast<std::uint8_t>(Abi::Amd64):
      return &amd64_traits;
    case static_cast<std::uint8_t>(Abi::S390x):
      return &s390x_traits;
    default:
      return nullptr;
  }
}

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
  const std::byte* first_row = nullptr;  ///< null: the attribute does not lie in the section

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

/// `swap`: the section's byte order is not the host's.
template <std::unsigned_integral T, bool swap>
T read_field(const std::byte* at) {
  T value = 0;
  std::memcpy(&value, at, sizeof(T));
  return swap ? swapped(value) : value;
}

inline std::uint64_t sign_extended(std::uint32_t value) {
  return static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(value)});
}

/// The words of one row, front to back; they lie in the section.
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
  /// The four bytes that the next word ends: no width is guessed wrong. A header is in front of all words.
  std::uint32_t next_four() {
    --left_;
    at_ += 1U << width_;
    return read_field<std::uint32_t, swap>(at_ - sizeof(std::uint32_t));
  }

  const std::byte* at_;
  unsigned left_;
  unsigned width_;
};

}  // namespace sframe_gen::sframe

/// From a PC to the function that holds it, by the index alone.
namespace sframe_gen::sframe {

inline constexpr std::uint32_t no_function = 0xffffffff;

template <typename Reader>
bool holds(const Reader& reader, std::uint32_t function, std::uint64_t pc) {
  const std::uint64_t start = reader.start_of(function);
  return pc >= start && pc - start < reader.size_of(function);
}

/// Of `count` functions from `first` on, in a sorted index, the last one that starts at or before `pc`; `first`, if
/// none does.
template <typename Reader>
std::uint32_t last_start(const Reader& reader, std::uint32_t first, std::uint32_t count, std::uint64_t pc) {
  while (count > 1) {
    const std::uint32_t half = count / 2;
    // No branch, which would be guessed wrong every other time.
    first += reader.start_of(first + half) <= pc ? half : 0;
    count -= half;
  }
  return first;
}

/// The function that holds `pc`, if `last` is the last one that starts at or before it.
template <typename Reader>
std::uint32_t holder_of(const Reader& reader, std::uint32_t last, std::uint64_t pc) {
  // A function of no bytes may share its start with a real one, or stand inside it; it holds no pc.
  while (last != 0 && reader.size_of(last) == 0) --last;
  return holds(reader, last, pc) ? last : no_function;
}

/// In an index that is not flagged as sorted.
template <typename Reader>
std::uint32_t first_holder(const Reader& reader, const detail::ViewFields& fields, std::uint64_t pc) {
  for (std::uint32_t function = 0; function < fields.count; ++function)
    if (holds(reader, function, pc)) return function;
  return no_function;
}

inline bool is_sorted(const detail::ViewFields& fields) {
  return (fields.flags & flag::sorted) != 0;
}

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

/// From a row's words to its rules.
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

  /// The CFA's offset as its ABI stores it: s390x shifts it by 160 and counts in units of 8 (3.1.3).
  bool read_cfa_offset(Words<swap>& words, std::int32_t& offset) const {
    const std::int64_t wide = sframe::cfa_offset_of_word(words.next_signed(), abi_);
    offset = static_cast<std::int32_t>(wide);
    return wide == offset;
  }

  /// An FP or RA word of a default row: an offset from the CFA, or on s390x up to version 2 the register whose number
  /// is in the word's upper bits.
  bool read_saved_where(std::int32_t word, UnwindRule& rule) const {
    const bool register_words = traits.has_register_words && abi_.abi == Abi::S390x;
    if (register_words && (word & 1) != 0) {
      if (word < 0) return false;
      rule = {static_cast<std::uint32_t>(word) >> 1U, 0, false};
      return true;
    }
    rule = {UnwindRule::cfa, word, true};
    return true;
  }

  /// CFA, then where the ABI tracks it the RA, then the FP (3.1); CTF Frame has the FP before the RA.
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

  /// A control word and its offset, or the one word 0 that stands for both where there is no rule (3.2), which leaves
  /// `rule` as it is and `present` false.
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

/// Reads a section in place: its descriptors, and by its bases rows and rules. One instance a version and byte order,
/// so that no field is asked for either.
template <Version number, bool swap>
class SectionReader : public RowScan<number, swap>, public RuleReader<number, swap> {
 public:
  static constexpr VersionTraits traits = traits_of(number);
  static constexpr bool is_plain = !swap;  ///< of the host's byte order

  explicit SectionReader(const detail::ViewFields& fields)
      : RowScan<number, swap>(fields), RuleReader<number, swap>(*fields.abi), fields_(fields) {}

  const std::byte* entry_of(std::uint32_t function) const {
    return fields_.index + std::uint64_t{function} * traits.descriptor_size;
  }

  std::uint64_t start_of(std::uint32_t function) const {
    const std::byte* const entry = entry_of(function);
    std::uint64_t distance = 0;
    if constexpr (traits.splits_descriptor) {
      distance = read_field<std::uint64_t, swap>(entry);
    } else {
      distance = sign_extended(read_field<std::uint32_t, swap>(entry));
    }
    return fields_.starts_from + function * fields_.start_stride + distance;
  }

  std::uint32_t size_of(std::uint32_t function) const {
    return read_field<std::uint32_t, swap>(entry_of(function) + (traits.start_size));
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
