#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>

#include "sframe/format.hpp"
#include "sframe_gen/view.hpp"
#include "support/endian.hpp"

/// The parser of sections, of all versions, ABIs and byte orders. Look-ups, decode(), --check and re-encoding read by
/// it. It allocates and throws nothing, so signal handlers may use it, and it reads nothing outside the section,
/// whatever its bytes are. A fault is a value that goes to the caller's `Faults`, which decides whether the parser goes
/// on:
///
///     bool operator()(const Fault&)     true: go on
namespace sframe_gen::sframe {

/// Where a section contradicts the format or itself.
struct Fault {
  Problem problem = Problem::None;
  const std::byte* at = nullptr;          ///< in the section
  std::array<std::uint64_t, 3> values{};  ///< what sentence_of() shows, by the problem
  const char* what = "";                  ///< the field, or whose rule it is
  std::uint32_t function = 0, row = 0;    ///< where SectionWalk found it: numbers from 0
};

/// What a header comes to, and the table of pages, if there is one. Pointers into the section.
struct SectionFields {
  const std::byte* index = nullptr;
  const std::byte* rows = nullptr;
  std::uint64_t rows_size = 0;     ///< bytes
  std::uint64_t starts_from = 0;   ///< address that the first function's start counts from
  std::uint64_t start_stride = 0;  ///< bytes from one function's such address to the next one's
  const AbiTraits* abi = nullptr;
  std::uint32_t count = 0;      ///< functions
  std::uint32_t row_count = 0;  ///< as the header says
  Version version = Version::V3;
  Endian endian = Endian::Little;
  std::uint8_t flags = 0;

  std::uint8_t page_shift = 0;      ///< pages have 1 << this bytes
  const PageSlot* pages = nullptr;  ///< null: there is no table
  std::uint64_t pages_begin = 0;    ///< address
  std::uint64_t pages_size = 0;     ///< bytes of code
};

/// A header (2.2), and where the parts of its section are: offsets in the section.
///
///     | header | auxiliary header | … | function index | … | rows | … |
struct Header {
  std::span<const std::byte> bytes;  ///< of the section
  SectionFields fields;              ///< of index and rows, if both begin inside the section
  const VersionTraits* version = nullptr;
  std::int8_t fixed_fp_offset = 0, fixed_ra_offset = 0;
  std::uint64_t end = 0;  ///< of the auxiliary header
  std::uint64_t index_begin = 0, index_end = 0;
  std::uint64_t rows_begin = 0;
  std::uint64_t rows_end = 0;  ///< at most the section's size

  std::uint64_t offset_of(const std::byte* at) const { return static_cast<std::uint64_t>(at - bytes.data()); }
};

/// Returns what is wrong, and with which values: "row starts at 0x8, but the function's size is 0x7". Allocates.
std::string sentence_of(const Fault& fault, const Header& header);

/// Is told what is wrong: true: go on.
template <typename T>
concept FaultVisitor = requires(T faults, const Fault& fault) {
  { faults(fault) } -> std::same_as<bool>;
};

template <FaultVisitor Faults>
class HeaderReader {
 public:
  HeaderReader(std::span<const std::byte> bytes, Faults& faults, Header& header) : faults_(faults), header_(header) {
    header_.bytes = bytes;
  }

  bool read(std::uint64_t address, Family family, const AbiTraits* unknown_abi) {
    if (!read_preamble(family) || !read_abi(unknown_abi) || !read_extents()) return false;
    // A start counts from its own field or from the section (2.1.3); in CTF Frame from the descriptor, whose first
    // field it is.
    const bool from_field =
        (fields().flags & flag::function_start_pc_relative) != 0 || header_.version->version == Version::CtfFrame;
    fields().starts_from = address + (from_field ? header_.index_begin : 0);
    fields().start_stride = from_field ? header_.version->descriptor_size : 0;
    return true;
  }

 private:
  SectionFields& fields() { return header_.fields; }
  std::uint64_t size() const { return header_.bytes.size(); }
  std::uint8_t byte_at(std::uint64_t offset) const { return std::to_integer<std::uint8_t>(header_.bytes[offset]); }

  bool fault(Problem problem, std::uint64_t offset, std::array<std::uint64_t, 3> values, const char* what = "") {
    return faults_(Fault{problem, header_.bytes.data() + offset, values, what});
  }
  bool has(std::uint64_t offset, std::uint64_t bytes, const char* what) {
    if (offset + bytes <= size()) return true;
    fault(Problem::HeaderCut, offset, {bytes, size() - offset}, what);
    return false;
  }

  bool read_preamble(Family family) {
    if (!has(0, sizeof magic, "magic number")) return false;
    // The magic number doubles as the mark of the byte order (2.1.1).
    const auto stored = load<std::uint16_t>(header_.bytes, Endian::Little);
    if (stored != magic && stored != swapped(magic)) {
      fault(Problem::NoMagic, 0, {stored});
      return false;
    }
    fields().endian = stored == magic ? Endian::Little : Endian::Big;
    if (!has(header::version_at, 1, "version")) return false;
    header_.version = find_version(byte_at(header::version_at), family);
    if (header_.version == nullptr) {
      fault(Problem::UnknownVersion, header::version_at, {byte_at(header::version_at)});
      return false;
    }
    fields().version = header_.version->version;
    if (!has(header::flags_at, 1, "flags")) return false;
    fields().flags = byte_at(header::flags_at);
    const unsigned unknown = fields().flags & ~unsigned{header_.version->known_flags};
    return unknown == 0 || fault(Problem::UnknownFlags, header::flags_at, {unknown});
  }

  bool read_abi(const AbiTraits* unknown_abi) {
    if (!has(header::abi_at, 1, "ABI")) return false;
    const std::uint8_t identifier = byte_at(header::abi_at);
    const AbiTraits* const abi = find_abi(identifier);
    fields().abi = abi != nullptr ? abi : unknown_abi;
    if (abi == nullptr || !has_abi(*header_.version, *abi)) {
      if (!fault(Problem::UnknownAbi, header::abi_at, {identifier})) return false;
    } else if (abi->endian != fields().endian) {
      if (!fault(Problem::OtherByteOrder, header::abi_at, {identifier})) return false;
    }
    if (!has(header::fixed_fp_at, 1, "fixed FP offset") || !has(header::fixed_ra_at, 1, "fixed RA offset"))
      return false;
    header_.fixed_fp_offset = static_cast<std::int8_t>(byte_at(header::fixed_fp_at));
    header_.fixed_ra_offset = static_cast<std::int8_t>(byte_at(header::fixed_ra_at));
    // No ABI saves the frame pointer at a fixed place (3.1).
    const auto value = [](std::int8_t offset) { return static_cast<std::uint64_t>(std::int64_t{offset}); };
    if (header_.fixed_fp_offset != 0 && !fault(Problem::FixedFp, header::fixed_fp_at, {value(header_.fixed_fp_offset)}))
      return false;
    const std::int8_t fixed_ra = fields().abi->fixed_ra_offset;
    return header_.fixed_ra_offset == fixed_ra ||
           fault(Problem::FixedRa, header::fixed_ra_at, {value(header_.fixed_ra_offset), value(fixed_ra)});
  }

  bool read_extents() {
    const HeaderFields at(*header_.version);
    std::uint32_t index_from = 0, rows_from = 0, rows_size = 0;
    const struct {
      std::uint32_t at;
      const char* what;
      std::uint32_t& value;
    } words[]{{at.fde_count_at(), "number of functions", fields().count},
              {at.fre_count_at(), "number of rows", fields().row_count},
              {at.fre_bytes_at(), "size of the rows", rows_size},
              {at.fdes_at(), "offset of the function index", index_from},
              {at.fres_at(), "offset of the rows", rows_from}};
    if (header_.version->has_auxiliary_header && !has(header::auxiliary_length_at, 1, "length of the auxiliary header"))
      return false;
    for (const auto& word : words) {
      if (!has(word.at, sizeof word.value, word.what)) return false;
      word.value = load<std::uint32_t>(header_.bytes.subspan(word.at), fields().endian);
    }
    // No version defines contents for it.
    const std::uint32_t begin = header_.version->header_size();
    const std::uint8_t auxiliary =
        header_.version->has_auxiliary_header ? byte_at(header::auxiliary_length_at) : std::uint8_t{0};
    header_.end = begin + auxiliary;
    if (header_.end > size() && !fault(Problem::HeaderCut, begin, {auxiliary, size() - begin}, "auxiliary header"))
      return false;
    header_.index_begin = header_.end + index_from;
    header_.index_end = header_.index_begin + std::uint64_t{fields().count} * header_.version->descriptor_size;
    header_.rows_begin = header_.end + rows_from;
    header_.rows_end = header_.rows_begin + rows_size;
    return check_extents(at);
  }

  bool check_extents(const HeaderFields& at) {
    if (header_.index_end > size() &&
        !fault(Problem::IndexOutside, at.fde_count_at(), {fields().count, header_.index_begin, size()}))
      return false;
    if (header_.rows_begin < header_.index_end &&
        !fault(Problem::RowsInIndex, at.fres_at(), {header_.rows_begin, header_.index_end}))
      return false;
    if (header_.rows_end > size() && !fault(Problem::RowsOutside, at.fre_bytes_at(),
                                            {header_.rows_end - header_.rows_begin, header_.rows_begin, size()}))
      return false;
    header_.rows_end = std::min(header_.rows_end, size());
    if (fields().row_count > most_rows(size()) &&
        !fault(Problem::HostileRowCount, at.fre_count_at(), {fields().row_count, size()}))
      return false;
    if (header_.index_end > size() || header_.rows_begin > size()) return true;
    fields().index = header_.bytes.data() + header_.index_begin;
    fields().rows = header_.bytes.data() + header_.rows_begin;
    fields().rows_size = header_.rows_end - header_.rows_begin;
    return true;
  }

  Faults& faults_;
  Header& header_;
};

/// Reads the header of the section `bytes` at `address`. False: `faults` stopped it, or what follows cannot be known.
/// An ABI that is not known is taken for `unknown_abi`, if `faults` goes on.
template <FaultVisitor Faults>
bool read_header(std::span<const std::byte> bytes, std::uint64_t address, Family family, Faults&& faults,
                 Header& header, const AbiTraits* unknown_abi = nullptr) {
  return HeaderReader(bytes, faults, header).read(address, family, unknown_abi);
}

/// A function's descriptor as its bytes have it, with its attribute where the version splits the two.
struct FdeFields {
  const std::byte* entry = nullptr;  ///< in the index
  std::uint64_t start = 0;           ///< address
  std::uint32_t size = 0;            ///< bytes
  std::uint32_t rows_at = 0;         ///< offset in the row sub-section, of the attribute if there is one
  std::uint32_t row_count = 0;
  FdeInfo info{0};
  FdeInfo2 info2{0};
  std::uint8_t repeat_size = 0;
  std::uint16_t padding = 0;             ///< version 2: after the repeat size
  std::uint8_t start_width = 0;          ///< bytes of a row's start; 0: its type is not defined
  const std::byte* first_row = nullptr;  ///< null: not inside the section

  bool is_flexible() const { return info2.fde_type() == static_cast<unsigned>(FdeType::Flexible); }
};

/// A row as its bytes have it.
struct FreFields {
  std::uint32_t start = 0;
  FreInfo info{0};
  const std::byte* words = nullptr;
  const std::byte* next = nullptr;  ///< the row after it
};

/// The words of one row, in order; they are inside the section.
class Words {
 public:
  Words(const FreFields& fre, Endian endian)
      : at_(fre.words), left_(fre.info.word_count()), width_(fre.info.word_width()), endian_(endian) {}

  unsigned left() const { return left_; }
  const std::byte* at() const { return at_; }  ///< the next word
  std::uint32_t next_unsigned() { return next_on_top() >> unused_bits(); }
  std::int32_t next_signed() { return static_cast<std::int32_t>(next_on_top()) >> unused_bits(); }

 private:
  unsigned unused_bits() const { return 32 - (8U << width_); }
  /// Returns the next word in the upper bits, without a branch on its width. A header precedes all words, so four bytes
  /// that end with it can be read.
  std::uint32_t next_on_top() {
    --left_;
    at_ += 1U << width_;
    const auto four = load<std::uint32_t>({at_ - sizeof(std::uint32_t), sizeof(std::uint32_t)}, endian_);
    return endian_ == Endian::Little ? four : four << unused_bits();
  }

  const std::byte* at_;
  unsigned left_;
  unsigned width_;
  Endian endian_;
};

/// Reads descriptors, rows and rules of a section whose header has been read.
class SectionReader {
 public:
  explicit SectionReader(const SectionFields& fields)
      : fields_(fields), version_(traits_of(fields.version)), swap_(fields.endian != host_endian) {}

  const VersionTraits& version() const { return version_; }

  std::uint64_t start_of(std::uint32_t function) const {
    const std::byte* const entry = entry_of(function);
    const std::uint64_t distance =
        version_.start_size == 8
            ? read<std::uint64_t>(entry)
            : static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(read<std::uint32_t>(entry))});
    return base_of(function) + distance;
  }
  /// Returns the address that the stored start counts from.
  std::uint64_t base_of(std::uint32_t function) const { return fields_.starts_from + function * fields_.start_stride; }
  std::uint32_t size_of(std::uint32_t function) const {
    return read<std::uint32_t>(entry_of(function) + version_.start_size);
  }

  FdeFields fde_at(std::uint32_t function) const {
    FdeFields fde;
    fde.entry = entry_of(function);
    fde.start = start_of(function);
    fde.size = size_of(function);
    fde.rows_at = read<std::uint32_t>(fde.entry + rows_field_at());
    if (version_.splits_descriptor) {
      read_attribute(fde);
    } else {
      fde.row_count = read<std::uint32_t>(fde.entry + fde_entry::row_count_at);
      fde.info = FdeInfo(read<std::uint8_t>(fde.entry + fde_entry::info_at));
      if (version_.has_repeat_size) {
        // GNU ld writes the size of a PLT's entries for its head too, which does not repeat (seen with 2.44).
        if (fde.info.pc_type() == PcType::Mask)
          fde.repeat_size = read<std::uint8_t>(fde.entry + fde_entry::repeat_size_at);
        fde.padding = read<std::uint16_t>(fde.entry + fde_entry::padding_at);
      }
      if (fde.rows_at <= fields_.rows_size) fde.first_row = fields_.rows + fde.rows_at;
    }
    const unsigned width = fde.info.fre_type() - version_.first_fre_type;
    if (width <= static_cast<unsigned>(FreAddressWidth::Four)) fde.start_width = static_cast<std::uint8_t>(1U << width);
    return fde;
  }
  std::uint32_t rows_field_at() const { return version_.start_size + 4U; }

  /// Reads the row at `at`. False: it is not inside the section, or its words have no size.
  bool read_row(unsigned start_width, const std::byte* at, FreFields& row) const {
    if (bytes_from(at) < start_width + 1U) return false;
    row.start = read_start(start_width, at);
    row.words = at + start_width + 1;
    row.info = FreInfo(read<std::uint8_t>(row.words - 1));
    if (row.info.word_width() > static_cast<unsigned>(DataWordWidth::Four)) return false;
    const std::uint64_t word_bytes = std::uint64_t{row.info.word_count()} << row.info.word_width();
    if (bytes_from(row.words) < word_bytes) return false;
    row.next = row.words + word_bytes;
    return true;
  }
  /// Returns the number of bytes from `at` to the end of the rows.
  std::uint64_t bytes_from(const std::byte* at) const {
    return static_cast<std::uint64_t>(fields_.rows + fields_.rows_size - at);
  }

  /// Reads the words of a row that has some (chapter 3). What they do not say has no value. False: they contradict the
  /// format, and `faults` stopped.
  template <FaultVisitor Faults>
  bool read_rules(const FdeFields& fde, const FreFields& fre, RecoveryRules& rules, Faults&& faults) const {
    Words words(fre, fields_.endian);
    rules.mangled_ra = fre.info.mangled_ra();
    return fde.is_flexible() ? read_flexible(words, rules, faults) : read_default(words, fre.info, rules, faults);
  }

  template <std::unsigned_integral T>
  T read(const std::byte* at) const {
    T value = 0;
    std::memcpy(&value, at, sizeof(T));
    return swap_ ? swapped(value) : value;
  }

 private:
  const std::byte* entry_of(std::uint32_t function) const {
    return fields_.index + std::uint64_t{function} * version_.descriptor_size;
  }

  std::uint32_t read_start(unsigned width, const std::byte* at) const {
    if (width == 1) return read<std::uint8_t>(at);
    return width == 2 ? read<std::uint16_t>(at) : read<std::uint32_t>(at);
  }

  void read_attribute(FdeFields& fde) const {
    if (fde.rows_at > fields_.rows_size || fields_.rows_size - fde.rows_at < fde_attribute::size) return;
    const std::byte* const attribute = fields_.rows + fde.rows_at;
    fde.row_count = read<std::uint16_t>(attribute);
    fde.info = FdeInfo(read<std::uint8_t>(attribute + fde_attribute::info_at));
    fde.info2 = FdeInfo2(read<std::uint8_t>(attribute + fde_attribute::info2_at));
    fde.repeat_size = read<std::uint8_t>(attribute + fde_attribute::repeat_size_at);
    fde.first_row = attribute + fde_attribute::size;
  }

  /// Reads the CFA's offset as its ABI stores it: s390x shifts it by 160 and counts in units of 8 (3.1.3).
  template <FaultVisitor Faults>
  bool read_cfa_offset(Words& words, Rule& cfa, Faults& faults) const {
    const std::byte* const at = words.at();
    const std::int64_t offset = cfa_offset_of_word(words.next_signed(), *fields_.abi);
    cfa.offset = static_cast<std::int32_t>(offset);
    return cfa.offset == offset || faults(Fault{Problem::CfaOverflow, at, {static_cast<std::uint64_t>(offset)}});
  }

  /// Reads an FP or RA word of a default row: an offset from the CFA, or on s390x up to version 2, whose rows have no
  /// other way to say it, the register whose number is in the word's upper bits.
  template <FaultVisitor Faults>
  bool read_saved_where(Words& words, std::optional<Rule>& rule, Faults& faults, bool zero_is_unchanged = false) const {
    const std::byte* const at = words.at();
    const std::int32_t word = words.next_signed();
    if (word == 0 && zero_is_unchanged) return true;
    const bool names_register = has_register_words(version_, *fields_.abi) && (word & 1) != 0;
    if (!names_register) {
      rule = Rule::at_cfa(word);
      return true;
    }
    rule = Rule::in_register(static_cast<std::uint32_t>(word) >> 1U);
    return word >= 0 || faults(Fault{Problem::OddOffset, at, {static_cast<std::uint64_t>(std::int64_t{word})}});
  }

  /// Reads the CFA, then where the ABI tracks it the RA, then the FP (3.1); CTF Frame has the FP before the RA.
  template <FaultVisitor Faults>
  bool read_default(Words& words, FreInfo info, RecoveryRules& rules, Faults& faults) const {
    const AbiTraits& abi = *fields_.abi;
    const unsigned most = abi.tracks_return_address ? 3 : 2;
    if (words.left() > most && !faults(Fault{Problem::SpareWords, words.at(), {words.left(), most}})) return false;
    rules.cfa = Rule::in_register(info.base_is_sp() ? abi.stack_pointer : abi.frame_pointer);
    if (!read_cfa_offset(words, rules.cfa, faults)) return false;
    if (version_.frame_pointer_first && words.left() != 0 && !read_saved_where(words, rules.frame_pointer, faults))
      return false;
    // The specification has 0 as padding for s390x alone. Linux takes it for "unchanged" on AArch64 too.
    const bool zero_is_unchanged = !version_.frame_pointer_first;
    if (abi.tracks_return_address && words.left() != 0 &&
        !read_saved_where(words, rules.return_address, faults, zero_is_unchanged))
      return false;
    return words.left() == 0 || read_saved_where(words, rules.frame_pointer, faults);
  }

  enum class Ruled : std::uint8_t { Cfa, ReturnAddress, FramePointer };
  static constexpr const char* name_of(Ruled ruled) {
    return ruled == Ruled::Cfa ? "CFA" : ruled == Ruled::ReturnAddress ? "RA" : "FP";
  }

  /// Reads a control word and its offset, or the one word 0 that stands for both where there is no rule (3.2).
  template <FaultVisitor Faults>
  bool read_rule(Words& words, Ruled ruled, std::optional<Rule>& rule, Faults& faults) const {
    const std::byte* const at = words.at();
    const ControlWord control(words.next_unsigned());
    if (control.is_padding()) return true;
    const auto fault = [&](Problem problem) { return faults(Fault{problem, at, {control.word()}, name_of(ruled)}); };
    if (control.reserved_bit_set() && !fault(Problem::ReservedControlBit)) return false;
    if (!control.register_based() && control.register_number() != 0 && !fault(Problem::StrayRegister)) return false;
    if (words.left() == 0) {
      fault(Problem::NoOffsetWord);
      return false;
    }
    rule.emplace();
    if (control.register_based()) rule->base_register = control.register_number();
    rule->dereferenced = control.dereferenced();
    if (ruled == Ruled::Cfa) return read_cfa_offset(words, *rule, faults);
    rule->offset = words.next_signed();
    return true;
  }

  template <FaultVisitor Faults>
  bool read_flexible(Words& words, RecoveryRules& rules, Faults& faults) const {
    const std::byte* last = words.at();
    std::optional<Rule> cfa;
    if (!read_rule(words, Ruled::Cfa, cfa, faults)) return false;
    if (!cfa || !cfa->base_register) {
      faults(Fault{Problem::NoCfaRegister, last});
      return false;
    }
    rules.cfa = *cfa;
    bool ends_in_rule = true;
    if (words.left() != 0) {
      last = words.at();
      if (!read_rule(words, Ruled::ReturnAddress, rules.return_address, faults)) return false;
      ends_in_rule = rules.return_address.has_value();
    }
    if (words.left() != 0) {
      last = words.at();
      if (!read_rule(words, Ruled::FramePointer, rules.frame_pointer, faults)) return false;
      ends_in_rule = rules.frame_pointer.has_value();
    }
    if (words.left() != 0 && !faults(Fault{Problem::WordsLeftOver, words.at(), {words.left()}})) return false;
    // Padding only keeps the place of an RA rule before an FP rule; at the end, words and word count disagree.
    return ends_in_rule || faults(Fault{Problem::EndsInPadding, last});
  }

  const SectionFields& fields_;
  const VersionTraits& version_;
  const bool swap_;  ///< the section's byte order is not the host's
};

}  // namespace sframe_gen::sframe
