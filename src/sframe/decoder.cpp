#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sframe/format.hpp"
#include "sframe_gen/error.hpp"
#include "sframe_gen/section.hpp"
#include "support/bytes.hpp"
#include "support/text.hpp"

namespace sframe_gen::sframe {
namespace {

/// Reports what does not hinder reading: as a remark if the caller collects them, else as MalformedInput.
void remark(const Strictness& strictness, const ByteReader& reader, std::uint64_t offset, const std::string& what) {
  constexpr std::size_t most_remarks = 16;  // a damaged section may have one for each of its bytes
  if (strictness.remarks == nullptr) reader.fail(offset, what);
  if (strictness.remarks->size() < most_remarks)
    strictness.remarks->push_back(MalformedInput(reader.origin(), offset, what).what());
}

/// sframe_header (2.2) after its checks: the sub-sections are inside the section, in this order, and do not overlap.
///
///     | header | auxiliary header | … | function index | … | rows | … |
struct Header {
  Endian endian;
  const VersionTraits* version;
  std::uint8_t flags;
  const AbiTraits* traits;
  std::int8_t fixed_fp_offset;
  std::int8_t fixed_ra_offset;
  std::uint32_t fde_count;
  std::uint32_t fre_count;
  std::uint64_t end;           ///< offset in the section of the first byte after the auxiliary header
  std::uint64_t index_offset;  ///< offset in the section of the function index
  std::uint64_t index_end;
  std::uint64_t fres_offset;  ///< offset in the section of the row sub-section
  std::uint64_t fres_end;
};

/// The magic number doubles as the mark of the byte order (2.1.1).
Endian byte_order_of(std::span<const std::byte> bytes, const Origin& origin) {
  const std::uint16_t stored = ByteReader(bytes, Endian::Little, origin).u16("magic number");
  if (stored == magic) return Endian::Little;
  if (stored == static_cast<std::uint16_t>(magic << 8U | magic >> 8U)) return Endian::Big;
  throw MalformedInput(origin, 0, "magic number is " + hex(stored) + ", but SFrame has " + hex(magic));
}

const VersionTraits& known_version(std::uint8_t number, Family family, const Origin& origin) {
  const VersionTraits* const version =
      family == Family::CtfFrame ? &traits_of(Version::CtfFrame) : find_version(number);
  if (version != nullptr && version->number == number) return *version;
  throw Refused(origin.file, origin.section + " has version " + std::to_string(number) + ", which is not known");
}

void check_flags(std::uint8_t flags, const VersionTraits& version, const ByteReader& reader) {
  const unsigned unknown = flags & ~unsigned{version.known_flags};
  if (unknown == 0) return;
  reader.fail(header::flags_at, "flags " + hex(unknown) + " are not defined in " + std::string(version.name));
}

const AbiTraits& known_abi(std::uint8_t identifier, const VersionTraits& version, const ByteReader& reader) {
  const AbiTraits* abi = find_abi(identifier);
  if (abi == nullptr || !has_abi(version, *abi)) {
    reader.fail(header::abi_at, "ABI is " + hex(identifier) + ", which is not defined in " + std::string(version.name));
  }
  if (abi->endian != reader.endian()) {
    reader.fail(header::abi_at, "ABI is " + std::string(name_of(abi->abi)) + ", but the byte order is not that ABI's");
  }
  return *abi;
}

void check_fixed_offsets(const Header& header, const ByteReader& reader, const Strictness& strictness) {
  // No ABI saves the frame pointer at a fixed place (3.1).
  if (header.fixed_fp_offset != 0) {
    remark(strictness, reader, header::fixed_fp_at,
           "fixed FP offset is " + std::to_string(header.fixed_fp_offset) + ", not 0");
  }
  if (header.fixed_ra_offset != header.traits->fixed_ra_offset) {
    remark(strictness, reader, header::fixed_ra_at,
           "fixed RA offset is " + std::to_string(header.fixed_ra_offset) + ", but the ABI's is " +
               std::to_string(header.traits->fixed_ra_offset));
  }
}

void check_extents(const Header& header, std::uint64_t section_size, const ByteReader& reader) {
  const HeaderFields fields(*header.version);
  const std::string size_text = " (section size " + hex(section_size) + ")";
  if (header.index_end > section_size) {
    reader.fail(fields.fde_count_at(), count_of(header.fde_count, "function descriptor") + " at " +
                                           hex(header.index_offset) + " end outside the section" + size_text);
  }
  if (header.fres_offset < header.index_end) {
    reader.fail(fields.fres_at(), "rows start at " + hex(header.fres_offset) + ", but the function index ends at " +
                                      hex(header.index_end));
  }
  if (header.fres_end > section_size) {
    reader.fail(fields.fre_bytes_at(), hex(header.fres_end - header.fres_offset) + " bytes of rows at " +
                                           hex(header.fres_offset) + " end outside the section" + size_text);
  }
}

void check_fre_count(const Header& header, std::uint64_t section_size, const Origin& origin) {
  if (header.fre_count <= most_rows(section_size)) return;
  throw Refused(origin.file, origin.section + " claims " + count_of(header.fre_count, "row") + " in " +
                                 count_of(section_size, "byte") + ", which no program has");
}

/// Throws MalformedInput, and Refused for a version that is not known.
Header decode_header(std::span<const std::byte> bytes, Family family, const Origin& origin,
                     const Strictness& strictness) {
  ByteReader reader(bytes, byte_order_of(bytes, origin), origin);
  reader.take(header::version_at, "magic number");

  Header header{};
  header.endian = reader.endian();
  header.version = &known_version(reader.u8("version"), family, origin);
  header.flags = reader.u8("flags");
  check_flags(header.flags, *header.version, reader);
  header.traits = &known_abi(reader.u8("ABI"), *header.version, reader);
  header.fixed_fp_offset = reader.i8("fixed FP offset");
  header.fixed_ra_offset = reader.i8("fixed RA offset");
  check_fixed_offsets(header, reader, strictness);

  const std::uint8_t auxiliary_length =
      header.version->has_auxiliary_header ? reader.u8("length of the auxiliary header") : std::uint8_t{0};
  header.fde_count = reader.u32("number of functions");
  header.fre_count = reader.u32("number of rows");
  const std::uint32_t fre_bytes = reader.u32("size of the rows");
  const std::uint32_t index_offset = reader.u32("offset of the function index");
  const std::uint32_t fres_offset = reader.u32("offset of the rows");
  // No version defines contents for it.
  reader.take(auxiliary_length, "auxiliary header");

  header.end = reader.offset();
  header.index_offset = header.end + index_offset;
  header.index_end = header.index_offset + std::uint64_t{header.fde_count} * header.version->descriptor_size;
  header.fres_offset = header.end + fres_offset;
  header.fres_end = header.fres_offset + fre_bytes;
  check_extents(header, bytes.size(), reader);
  check_fre_count(header, bytes.size(), origin);
  return header;
}

/// What the decoding of a function depends on.
struct DecodingRules {
  const VersionTraits& version;
  const AbiTraits& abi;
  Strictness strictness;
};

/// What a function says of its rows.
struct FreShape {
  std::uint32_t fre_count;
  FreAddressWidth fre_address_width;
};

/// The words of one row, in order.
class WordReader {
 public:
  WordReader(ByteReader& reader, FreInfo info)
      : reader_(&reader), left_(info.word_count()), width_(static_cast<DataWordWidth>(info.word_width())) {}

  unsigned left() const { return left_; }
  /// Offset in the section of the next word.
  std::uint64_t offset() const { return reader_->offset(); }

  std::int32_t offset_word(const char* what) {
    --left_;
    switch (width_) {
      case DataWordWidth::One:
        return reader_->i8(what);
      case DataWordWidth::Two:
        return reader_->i16(what);
      case DataWordWidth::Four:
        return reader_->i32(what);
    }
    return 0;
  }

  /// Control words are unsigned: the register number fills them to the top (3.2).
  ControlWord control_word(const char* what) {
    --left_;
    switch (width_) {
      case DataWordWidth::One:
        return ControlWord(reader_->u8(what));
      case DataWordWidth::Two:
        return ControlWord(reader_->u16(what));
      case DataWordWidth::Four:
        return ControlWord(reader_->u32(what));
    }
    return ControlWord(0);
  }

  [[noreturn]] void fail(std::uint64_t offset, const std::string& what) const { reader_->fail(offset, what); }

 private:
  ByteReader* reader_;
  unsigned left_;
  DataWordWidth width_;
};

/// The CFA's offset as its ABI stores it: s390x shifts it by 160 and counts in units of 8 (3.1.3).
std::int32_t cfa_offset(WordReader& words, const AbiTraits& abi) {
  const std::uint64_t at = words.offset();
  const std::int64_t offset = cfa_offset_of_word(words.offset_word("CFA offset"), abi);
  if (offset != static_cast<std::int32_t>(offset)) {
    words.fail(at, "CFA offset " + std::to_string(offset) + " does not fit in 32 bits");
  }
  return static_cast<std::int32_t>(offset);
}

/// Where an FP or RA word of a default row says the value is: at an offset from the CFA, or on s390x up to version 2,
/// whose rows have no other way to say it, in the register whose number is in the word's upper bits.
/// The word is at `start`.
Rule saved_where(std::int32_t word, const WordReader& words, std::uint64_t start, const DecodingRules& rules) {
  if (has_register_words(rules.version, rules.abi) && (word & 1) != 0) {
    if (word < 0) words.fail(start, "offset " + std::to_string(word) + " is odd, but names no register");
    return {.base_register = static_cast<std::uint32_t>(word) >> 1U, .offset = 0, .dereferenced = false};
  }
  return {.base_register = std::nullopt, .offset = word, .dereferenced = true};
}

/// CFA, then where the ABI tracks it the RA, then the FP, each an offset (3.1); CTF Frame has the FP before the RA.
RecoveryRules decode_default(WordReader& words, FreInfo info, const DecodingRules& rules) {
  const AbiTraits& abi = rules.abi;
  const unsigned most = abi.tracks_return_address ? 3 : 2;
  if (words.left() > most) {
    words.fail(words.offset(), "row has " + count_of(words.left(), "data word") +
                                   ", but a default descriptor has 1 to " + std::to_string(most));
  }
  RecoveryRules recovery;
  recovery.cfa.base_register = info.base_is_sp() ? abi.stack_pointer : abi.frame_pointer;
  recovery.cfa.offset = cfa_offset(words, abi);
  const auto read_frame_pointer = [&] {
    if (words.left() == 0) return;
    const std::uint64_t start = words.offset();
    recovery.frame_pointer = saved_where(words.offset_word("FP offset"), words, start, rules);
  };
  if (rules.version.frame_pointer_first) read_frame_pointer();
  if (abi.tracks_return_address && words.left() != 0) {
    const std::uint64_t start = words.offset();
    const std::int32_t word = words.offset_word("RA offset");
    if (word != 0 || !abi.pads_return_address) recovery.return_address = saved_where(word, words, start, rules);
  }
  read_frame_pointer();
  return recovery;
}

/// A control word and its offset, or the one word 0 that stands for both where there is no rule (3.2). `cfa_abi` is
/// given for the CFA's rule, whose offset the ABI may store in a way of its own.
std::optional<Rule> decode_rule(WordReader& words, const std::string& name, const AbiTraits* cfa_abi = nullptr) {
  const std::uint64_t start = words.offset();
  const ControlWord control = words.control_word("control word");
  if (control.is_padding()) return std::nullopt;
  const std::string shown = name + " control word " + hex(control.word());
  if (control.reserved_bit_set()) words.fail(start, shown + " has the reserved bit set");
  if (!control.register_based() && control.register_number() != 0) {
    words.fail(start, shown + " names a register, but is not based on one");
  }
  if (words.left() == 0) words.fail(start, shown + " has no offset word behind it");
  Rule rule;
  if (control.register_based()) rule.base_register = control.register_number();
  rule.dereferenced = control.dereferenced();
  rule.offset = cfa_abi != nullptr ? cfa_offset(words, *cfa_abi) : words.offset_word("offset word");
  return rule;
}

RecoveryRules decode_flexible(WordReader& words, const AbiTraits& abi) {
  const std::uint64_t start = words.offset();
  RecoveryRules recovery;
  const std::optional<Rule> cfa = decode_rule(words, "CFA", &abi);
  if (!cfa || !cfa->base_register) words.fail(start, "CFA rule of a flexible row has no base register");
  recovery.cfa = *cfa;
  if (words.left() == 0) return recovery;

  std::uint64_t last_start = words.offset();
  recovery.return_address = decode_rule(words, "RA");
  bool ends_in_rule = recovery.return_address.has_value();
  if (words.left() != 0) {
    last_start = words.offset();
    recovery.frame_pointer = decode_rule(words, "FP");
    ends_in_rule = recovery.frame_pointer.has_value();
  }
  if (words.left() != 0) {
    words.fail(words.offset(), count_of(words.left(), "data word") + " left over behind the rules of a flexible row");
  }
  // Padding only keeps the place of an RA rule before an FP rule; at the end, words and word count disagree.
  if (!ends_in_rule) words.fail(last_start, "flexible row ends in a padding word");
  return recovery;
}

/// Reads the data words after a row's info byte (chapter 3). No value where the row has no words: the return address is
/// undefined.
std::optional<RecoveryRules> decode_recovery(ByteReader& reader, FreInfo info, FdeType type,
                                             const DecodingRules& rules) {
  if (info.word_count() == 0) return std::nullopt;
  WordReader words(reader, info);
  RecoveryRules recovery =
      type == FdeType::Flexible ? decode_flexible(words, rules.abi) : decode_default(words, info, rules);
  recovery.mangled_ra = info.mangled_ra();
  return recovery;
}

/// Reads what all versions have in the info byte.
FreAddressWidth decode_info(FdeInfo info, std::uint64_t offset, const ByteReader& reader, const DecodingRules& rules,
                            Fde& fde) {
  const unsigned first = rules.version.first_fre_type;
  if (info.fre_type() < first || info.fre_type() - first > static_cast<unsigned>(FreAddressWidth::Four)) {
    reader.fail(offset, "row type is " + std::to_string(info.fre_type()) + ", which is not defined");
  }
  if ((info.byte() & rules.version.reserved_fde_info) != 0) {
    remark(rules.strictness, reader, offset, "function info " + hex(info.byte()) + " has reserved bits set");
  }
  if (info.b_key() && !rules.abi.signs_return_address) {
    reader.fail(offset, "function info " + hex(info.byte()) + " names a signing key, but the ABI has none");
  }
  fde.pc_type = info.pc_type();
  fde.b_key = info.b_key();
  return static_cast<FreAddressWidth>(info.fre_type() - first);
}

void check_info2(FdeInfo2 info2, std::uint64_t offset, const ByteReader& reader, const Strictness& strictness) {
  if (info2.reserved_bits_set())
    remark(strictness, reader, offset, "function info 2 " + hex(info2.byte()) + " has reserved bits set");
  if (info2.fde_type() > static_cast<unsigned>(FdeType::Flexible)) {
    reader.fail(offset, "descriptor type is " + std::to_string(info2.fde_type()) + ", which is not defined");
  }
}

void check_repeat_size(const Fde& fde, std::uint64_t offset, const ByteReader& reader) {
  if (fde.pc_type == PcType::Mask && fde.repeat_size == 0) {
    reader.fail(offset, "repeat size of a MASK function is 0");
  }
  if (fde.pc_type == PcType::Increment && fde.repeat_size != 0) {
    reader.fail(offset, "repeat size is " + hex(fde.repeat_size) + ", but the function does not repeat");
  }
}

std::uint32_t read_fre_start(ByteReader& reader, FreAddressWidth width) {
  switch (width) {
    case FreAddressWidth::One:
      return reader.u8("row start");
    case FreAddressWidth::Two:
      return reader.u16("row start");
    case FreAddressWidth::Four:
      return reader.u32("row start");
  }
  return 0;
}

void check_fre_start(std::uint32_t start, const Fde& fde, Strictness strictness, std::uint64_t offset,
                     const ByteReader& reader) {
  if (!fde.fres.empty() && start <= fde.fres.back().pc_offset) {
    reader.fail(offset, "row starts at " + hex(start) + ", not after the row before it, which starts at " +
                            hex(fde.fres.back().pc_offset));
  }
  if (start > fde.size || (start == fde.size && !strictness.allow_fre_at_end)) {
    reader.fail(offset, "row starts at " + hex(start) + ", but the function's size is " + hex(fde.size));
  }
  if (fde.repeat_size != 0 && start >= fde.repeat_size) {
    reader.fail(offset, "row starts at " + hex(start) + ", but the repeated block's size is " + hex(fde.repeat_size));
  }
}

FreInfo decode_fre_info(ByteReader& reader, const DecodingRules& rules) {
  const std::uint64_t offset = reader.offset();
  const FreInfo info(reader.u8("row info"));
  if (info.word_width() > static_cast<unsigned>(DataWordWidth::Four)) {
    reader.fail(offset, "size of data words is " + std::to_string(info.word_width()) + ", which is not defined");
  }
  if (info.mangled_ra() && !rules.version.has_mangled_ra) {
    reader.fail(offset, "row info " + hex(info.byte()) + " has the reserved bit set");
  }
  if (info.mangled_ra() && !rules.abi.signs_return_address) {
    reader.fail(offset, "row info " + hex(info.byte()) + " says that the RA is signed, but the ABI signs none");
  }
  // Version 2 gave it a meaning by its second erratum; before it, the CFA offset is always there.
  if (info.word_count() == 0 && !rules.version.has_repeat_size) {
    reader.fail(offset, "row has no data words, which " + std::string(rules.version.name) + " does not define");
  }
  return info;
}

/// Reads the attribute of a version 3 function (2.3.2) into `fde`.
FreShape decode_attribute(ByteReader& reader, const DecodingRules& rules, Fde& fde) {
  const std::uint64_t start = reader.offset();
  const std::uint16_t fre_count = reader.u16("number of rows of the function");
  const FdeInfo info(reader.u8("function info"));
  const FdeInfo2 info2(reader.u8("function info 2"));
  fde.repeat_size = reader.u8("repeat size");

  const FreAddressWidth width = decode_info(info, start + fde_attribute::info_at, reader, rules, fde);
  check_info2(info2, start + fde_attribute::info2_at, reader, rules.strictness);
  fde.signal_frame = info.signal_frame();
  fde.type = static_cast<FdeType>(info2.fde_type());
  check_repeat_size(fde, start + fde_attribute::repeat_size_at, reader);
  return {fre_count, width};
}

/// Reads the rest of a descriptor of the other versions, from its info byte on.
FreShape decode_descriptor_tail(ByteReader& reader, std::uint32_t fre_count, const DecodingRules& rules, Fde& fde) {
  const std::uint64_t start = reader.offset();
  const FdeInfo info(reader.u8("function info"));
  const FreAddressWidth width = decode_info(info, start, reader, rules, fde);
  if (!rules.version.has_repeat_size) return {fre_count, width};
  fde.repeat_size = reader.u8("repeat size");
  // GNU ld writes the size of a PLT's entries for its head too, which does not repeat (seen with 2.44).
  if (fde.pc_type == PcType::Increment) fde.repeat_size = 0;
  check_repeat_size(fde, start + 1, reader);
  const std::uint64_t padding_at = reader.offset();
  if (reader.u16("padding") != 0)
    remark(rules.strictness, reader, padding_at, "padding of the function descriptor is not zero");
  return {fre_count, width};
}

/// Reads a function's rows (2.4) into `fde`, all else of which is known. `reader` ends with the row sub-section.
void decode_fres(ByteReader& reader, const FreShape& shape, const DecodingRules& rules, Fde& fde) {
  const std::uint64_t least_bytes = std::uint64_t{shape.fre_count} * (bytes_of(shape.fre_address_width) + 1U);
  if (least_bytes > reader.left()) {
    reader.fail(reader.offset(), count_of(shape.fre_count, "row") + " need at least " + count_of(least_bytes, "byte") +
                                     ", but only " + std::to_string(reader.left()) + " are left");
  }
  fde.fres.reserve(shape.fre_count);
  for (std::uint32_t i = 0; i < shape.fre_count; ++i) {
    const std::uint64_t offset = reader.offset();
    const std::uint32_t start = read_fre_start(reader, shape.fre_address_width);
    check_fre_start(start, fde, rules.strictness, offset, reader);
    const FreInfo info = decode_fre_info(reader, rules);
    fde.fres.push_back({start, decode_recovery(reader, info, fde.type, rules)});
  }
}

class SectionDecoder {
 public:
  SectionDecoder(std::span<const std::byte> bytes, std::uint64_t address, const Origin& origin, Strictness strictness,
                 Family family)
      : bytes_(bytes),
        address_(address),
        origin_(&origin),
        header_(decode_header(bytes, family, origin, strictness)),
        rules_{*header_.version, *header_.traits, strictness} {}

  Section decode() {
    check_padding(header_.end, header_.index_offset);
    check_padding(header_.index_end, header_.fres_offset);
    check_padding(header_.fres_end, bytes_.size());

    Section section;
    section.address = address_;
    section.endian = header_.endian;
    section.version = header_.version->version;
    section.flags = header_.flags;
    section.abi = header_.traits->abi;
    section.fixed_fp_offset = header_.fixed_fp_offset;
    section.fixed_ra_offset = header_.fixed_ra_offset;
    section.fdes = decode_fdes();
    if ((header_.flags & flag::sorted) != 0) check_sorted(section.fdes);
    if (!rules_.strictness.allow_overlap) check_disjoint(section.fdes);
    return section;
  }

 private:
  [[noreturn]] void fail(std::uint64_t offset, const std::string& what) const {
    throw MalformedInput(*origin_, offset, what);
  }

  std::uint64_t entry_offset(std::size_t fde) const {
    return header_.index_offset + std::uint64_t{fde} * header_.version->descriptor_size;
  }

  /// Sections are padded to their alignment; anything but zeros would be data that no field accounts for.
  void check_padding(std::uint64_t begin, std::uint64_t end) const {
    const auto gap = bytes_.subspan(begin, end - begin);
    const auto stray = std::ranges::find_if(gap, [](std::byte byte) { return byte != std::byte{0}; });
    if (stray == gap.end()) return;
    remark(
        rules_.strictness, ByteReader(bytes_, header_.endian, *origin_),
        begin + static_cast<std::uint64_t>(stray - gap.begin()),
        "byte " + hex(std::to_integer<std::uint8_t>(*stray)) + " belongs to neither the function index nor the rows");
  }

  std::vector<Fde> decode_fdes() const {
    const auto index_bytes = bytes_.subspan(header_.index_offset, header_.index_end - header_.index_offset);
    ByteReader index(index_bytes, header_.endian, *origin_, header_.index_offset);
    std::vector<Fde> fdes;
    fdes.reserve(header_.fde_count);
    std::uint64_t fre_count = 0;
    while (!index.at_end()) {
      fdes.push_back(decode_fde(index));
      fre_count += fdes.back().fres.size();
      if (fre_count > header_.fre_count) break;
    }
    if (fre_count != header_.fre_count) {
      fail(HeaderFields(*header_.version).fre_count_at(),
           "number of rows is " + std::to_string(header_.fre_count) + ", but the functions have " +
               (index.at_end() ? "" : "at least ") + std::to_string(fre_count));
    }
    return fdes;
  }

  Fde decode_fde(ByteReader& index) const {
    Fde fde;
    fde.start = decode_start(index);
    fde.size = index.u32("function size");
    if (fde.start + fde.size < fde.start) {
      fail(index.offset() - 4,
           "function at " + hex(fde.start) + " with size " + hex(fde.size) + " ends outside the address space");
    }
    const std::uint64_t fres_field = index.offset();
    const std::uint32_t fres_at = index.u32("offset of the function's rows");
    const bool in_descriptor = !header_.version->splits_descriptor;
    FreShape shape{};
    if (in_descriptor) {
      const std::uint32_t fre_count = index.u32("number of rows of the function");
      shape = decode_descriptor_tail(index, fre_count, rules_, fde);
    }

    const auto fre_bytes = bytes_.subspan(header_.fres_offset, header_.fres_end - header_.fres_offset);
    const bool nothing_there = in_descriptor && shape.fre_count == 0;
    if (fres_at > fre_bytes.size() || (fres_at == fre_bytes.size() && !nothing_there)) {
      fail(fres_field,
           "function's rows are at " + hex(fres_at) + ", but the rows have only " + count_of(fre_bytes.size(), "byte"));
    }
    ByteReader fres(fre_bytes.subspan(fres_at), header_.endian, *origin_, header_.fres_offset + fres_at);
    if (!in_descriptor) shape = decode_attribute(fres, rules_, fde);
    decode_fres(fres, shape, rules_, fde);
    return fde;
  }

  /// The stored start counts from its own field or from the section (2.1.3); in CTF Frame from the descriptor, whose
  /// first field it is.
  std::uint64_t decode_start(ByteReader& index) const {
    const std::uint64_t field = index.offset();
    const bool from_field =
        (header_.flags & flag::function_start_pc_relative) != 0 || header_.version->version == Version::CtfFrame;
    const std::uint64_t base = address_ + (from_field ? field : 0);
    const std::int64_t distance =
        header_.version->start_size == 8 ? index.i64("function start") : index.i32("function start");
    const std::uint64_t start = base + static_cast<std::uint64_t>(distance);
    if (distance < 0 ? start >= base : start < base) {
      fail(field, "function start is " + std::to_string(distance) + " bytes from " + hex(base) +
                      ", which is outside the address space");
    }
    return start;
  }

  void check_sorted(const std::vector<Fde>& fdes) const {
    for (std::size_t i = 1; i < fdes.size(); ++i) {
      if (fdes[i].start >= fdes[i - 1].start) continue;
      fail(entry_offset(i), "function at " + hex(fdes[i].start) + " comes after the one at " + hex(fdes[i - 1].start) +
                                ", but the index is flagged as sorted");
    }
  }

  /// A pc in two functions would be unwound by chance. Functions of no bytes hold no pc.
  void check_disjoint(const std::vector<Fde>& fdes) const {
    std::vector<std::uint32_t> by_start(fdes.size());
    std::iota(by_start.begin(), by_start.end(), 0U);
    if ((header_.flags & flag::sorted) == 0) {
      std::ranges::sort(by_start, {}, [&](std::uint32_t i) { return fdes[i].start; });
    }
    const Fde* before = nullptr;
    for (const std::uint32_t i : by_start) {
      const Fde& fde = fdes[i];
      if (fde.size == 0) continue;
      if (before != nullptr && fde.start - before->start < before->size) {
        fail(entry_offset(i), "function at " + hex(fde.start) + " overlaps the one from " + hex(before->start) +
                                  " to " + hex(before->start + before->size));
      }
      before = &fde;
    }
  }

  std::span<const std::byte> bytes_;
  std::uint64_t address_;
  const Origin* origin_;
  Header header_;
  DecodingRules rules_;
};

}  // namespace

Section decode(std::span<const std::byte> bytes, std::uint64_t section_address, const Origin& origin,
               Strictness strictness, Family family) {
  return SectionDecoder(bytes, section_address, origin, strictness, family).decode();
}

}  // namespace sframe_gen::sframe
