#include "readers/survey.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "elf/image.hpp"
#include "elf/machine.hpp"
#include "elf/records.hpp"
#include "object/relocations.hpp"
#include "sframe/format.hpp"
#include "support/text.hpp"

namespace sframe_gen::readers {
namespace {

using sframe::DataWordWidth;
using sframe::FdeType;
using sframe::PcType;

/// A header whose function index is inside the section, so that its functions can be read.
struct SurveyedHeader {
  Fields fields;
  const sframe::VersionTraits* version = nullptr;
  const sframe::AbiTraits* abi = nullptr;  ///< the file's, where the header names none
  std::uint8_t flags = 0;
  std::uint32_t function_count = 0;
  std::uint32_t row_count = 0;
  std::uint64_t index = 0;  ///< offsets in the section
  std::uint64_t rows = 0;
  std::uint64_t rows_end = 0;  ///< at most the section's
};

/// A descriptor as its bytes say it.
struct SurveyedFunction {
  std::uint32_t number;  ///< from 0
  std::uint64_t start;   ///< address
  std::uint32_t size;    ///< bytes
  std::uint32_t row_count;
  std::uint64_t begin;   ///< offset in the section of its rows, of the attribute in front of them if there is one
  std::uint64_t rows;    ///< and of its first row
  unsigned start_width;  ///< bytes of a row's start
  sframe::PcType pc_type;
  sframe::FdeType type;
  std::uint8_t repeat_size;
};

class RowSurvey {
 public:
  RowSurvey(const SurveyedHeader& header, const SurveyedFunction& function, Findings& findings)
      : header_(header), function_(function), findings_(findings) {}

  std::uint64_t run() {
    std::uint64_t at = function_.rows;
    for (number_ = 0; number_ < function_.row_count; ++number_) {
      at = survey_row(at);
      if (at == 0) return 0;
    }
    return at;
  }

 private:
  void add(Fact fact, std::uint64_t offset, const std::string& text) {
    findings_.add(
        fact, offset,
        "row " + std::to_string(number_ + 1) + " of descriptor " + std::to_string(function_.number + 1) + ' ' + text);
  }

  /// Returns where the next one is, or 0.
  std::uint64_t survey_row(std::uint64_t at) {
    if (header_.rows_end - at < function_.start_width + 1U) {
      add(Fact::RowOutside, at, "lies outside the rows");
      return 0;
    }
    survey_start(at);
    const std::uint64_t info_at = at + function_.start_width;
    const sframe::FreInfo info(header_.fields.u8(info_at));
    if (info.word_width() > static_cast<unsigned>(DataWordWidth::Four)) {
      add(Fact::UndefinedWordSize, info_at, "has data words of an undefined size");
      return 0;
    }
    const std::uint64_t words = info_at + 1;
    const std::uint64_t size = std::uint64_t{info.word_count()} << info.word_width();
    if (header_.rows_end - words < size) {
      add(Fact::RowOutside, at, "ends outside the rows");
      return 0;
    }
    survey_words(info, info_at);
    return words + size;
  }

  void survey_start(std::uint64_t at) {
    const std::uint32_t start = header_.fields.number(at, function_.start_width);
    const bool masks = function_.pc_type == PcType::Mask;
    if (number_ != 0 && start <= before_) add(Fact::RowNotAscending, at, "does not start after the row before it");
    if (start > function_.size && !masks) add(Fact::RowBeyondFunction, at, "starts behind the function's end");
    if (start == function_.size && !masks) add(Fact::RowAtEnd, at, "starts at the function's end");
    if (masks && function_.repeat_size != 0 && start >= function_.repeat_size)
      add(Fact::RowBeyondBlock, at, "starts behind the repeated block");
    before_ = start;
  }

  void survey_words(sframe::FreInfo info, std::uint64_t at) {
    const sframe::AbiTraits& abi = *header_.abi;
    constexpr unsigned most_words = 6;
    const bool flexible = function_.type == FdeType::Flexible;
    if (info.mangled_ra() && !abi.signs_return_address)
      add(Fact::StraySignature, at, "says that the return address is signed, which this ABI has not");
    if (info.word_count() == 0) return add(Fact::NoWords, at, "has no data words");
    if (info.word_count() > most_words) return add(Fact::RowTooLong, at, "has more data words than any form");
    if (flexible) return survey_flexible(info, at);
    const unsigned most = abi.tracks_return_address ? 3 : 2;
    if (info.word_count() > most) add(Fact::SpareWords, at, "has more data words than a default descriptor's");
  }

  /// Pairs of a control word and an offset; the word 0 stands for both where there is no rule.
  void survey_flexible(sframe::FreInfo info, std::uint64_t at) {
    const unsigned width = 1U << info.word_width();
    const auto word = [&](unsigned i) {
      return sframe::ControlWord(header_.fields.number(at + 1 + std::uint64_t{i} * width, width));
    };
    if (word(0).reserved_bit_set()) add(Fact::ReservedBits, at, "has reserved bits set in a control word");
    if (!word(0).register_based() || info.word_count() == 1)
      return add(Fact::BadFlexible, at, "has no CFA that is based on a register");
    unsigned i = 2, rules = 1;
    bool ends_in_rule = true;
    for (; i < info.word_count() && rules < 3; ++rules) {
      const sframe::ControlWord control = word(i);
      ends_in_rule = !control.is_padding();
      i += ends_in_rule ? 2 : 1;
      const bool stray = !control.register_based() && control.register_number() != 0;
      if (control.reserved_bit_set() || stray) add(Fact::ReservedBits, at, "has reserved bits set in a control word");
    }
    if (i != info.word_count() || !ends_in_rule) add(Fact::BadFlexible, at, "has data words that make no whole rules");
  }

  const SurveyedHeader& header_;
  const SurveyedFunction& function_;
  Findings& findings_;
  std::uint32_t number_ = 0;
  std::uint32_t before_ = 0;  ///< start of the row before
};

/// Looks at a function's rows. Returns the offset in the section of their end; 0 where they cannot be followed to it.
std::uint64_t survey_rows(const SurveyedHeader& header, const SurveyedFunction& function, Findings& findings) {
  return RowSurvey(header, function, findings).run();
}

using sframe::Version;

std::optional<Endian> byte_order_of(std::span<const std::byte> bytes) {
  for (const Endian endian : {Endian::Little, Endian::Big})
    if (load<std::uint16_t>(bytes, endian) == sframe::magic) return endian;
  return std::nullopt;
}

void survey_version(const sframe::VersionTraits& version, Findings& findings) {
  const Fact fact = version.version == Version::V1   ? Fact::Version1
                    : version.version == Version::V2 ? Fact::Version2
                                                     : Fact::Version3;
  findings.add(fact, sframe::header::version_at, "it is " + std::string(version.name));
}

void survey_flags(std::uint8_t flags, const sframe::VersionTraits& version, Findings& findings) {
  constexpr std::uint32_t at = sframe::header::flags_at;
  const unsigned unknown = flags & ~unsigned{version.known_flags};
  if (unknown != 0)
    findings.add(Fact::UnknownFlags, at, "flags " + hex(unknown) + " are not defined in " + std::string(version.name));
  if ((flags & sframe::flag::sorted) == 0)
    findings.add(Fact::NotFlaggedSorted, at, "its index is not flagged as sorted");
  const bool from_field = (flags & sframe::flag::function_start_pc_relative) != 0;
  findings.add(
      from_field ? Fact::StartsFromField : Fact::StartsFromSection, at,
      from_field ? "function starts are relative to their own fields" : "function starts are relative to the section");
}

/// The ABI that the rows are read by.
const sframe::AbiTraits& survey_abi(const Fields& fields, const sframe::AbiTraits& file, Findings& findings) {
  constexpr std::uint32_t at = sframe::header::abi_at;
  const sframe::AbiTraits* const named = sframe::find_abi(fields.u8(at));
  if (named == nullptr) {
    findings.add(fields.u8(at) == 0 ? Fact::NoAbi : Fact::UnknownAbi, at,
                 "ABI is " + hex(fields.u8(at)) + ", which is not defined");
  } else if (named->abi != file.abi) {
    findings.add(Fact::OtherAbi, at,
                 "ABI is " + std::string(sframe::name_of(named->abi)) + ", but the file is for " +
                     std::string(sframe::name_of(file.abi)));
  }
  const sframe::AbiTraits& abi = named != nullptr ? *named : file;
  if (abi.abi == sframe::Abi::S390x) findings.add(Fact::S390x, at, "it is for s390x");
  if (const std::int8_t offset = fields.i8(sframe::header::fixed_fp_at); offset != 0)
    findings.add(Fact::FixedFp, sframe::header::fixed_fp_at,
                 "fixed FP offset is " + std::to_string(offset) + ", not 0");
  if (const std::int8_t offset = fields.i8(sframe::header::fixed_ra_at); offset != abi.fixed_ra_offset)
    findings.add(
        Fact::OtherFixedRa, sframe::header::fixed_ra_at,
        "fixed RA offset is " + std::to_string(offset) + ", but the ABI's is " + std::to_string(abi.fixed_ra_offset));
  return abi;
}

/// Anything but zeros would be data that no field accounts for.
void survey_gap(const Fields& fields, std::uint64_t begin, std::uint64_t end, Findings& findings) {
  const auto gap = fields.bytes().subspan(begin, end - begin);
  const auto stray = std::ranges::find_if(gap, [](std::byte byte) { return byte != std::byte{0}; });
  if (stray == gap.end()) return;
  findings.add(Fact::StrayBytes, begin + static_cast<std::uint64_t>(stray - gap.begin()),
               "bytes belong to neither the function index nor the rows");
}

std::optional<SurveyedHeader> survey_extents(SurveyedHeader header, Findings& findings) {
  const Fields& fields = header.fields;
  const sframe::HeaderFields places(*header.version);
  const std::uint64_t header_end = header.version->header_size() + fields.u8(sframe::header::auxiliary_length_at);
  const std::uint32_t index_from = fields.u32(places.fdes_at()), rows_from = fields.u32(places.fres_at());
  header.index = header_end + index_from;
  header.rows = header_end + rows_from;
  const std::uint64_t index_end = header.index + std::uint64_t{header.function_count} * header.version->descriptor_size;
  const std::uint64_t rows_end = header.rows + fields.u32(places.fre_bytes_at());
  if (index_from > rows_from)
    findings.add(Fact::RowsBeforeIndex, places.fres_at(), "rows start before the function index");
  if (fields.size() == header_end && header.function_count != 0)
    findings.add(Fact::HeaderAlone, places.fde_count_at(), "it ends with its header");
  if (header.rows > fields.size())
    findings.add(Fact::RowsBeginOutside, places.fres_at(), "rows begin outside the section");
  if (index_end > fields.size()) {
    findings.add(Fact::IndexOutside, places.fde_count_at(),
                 count_of(header.function_count, "descriptor") + " end outside the section");
    return std::nullopt;
  }
  if (header.rows < index_end)
    findings.add(Fact::RowsInIndex, places.fres_at(), "rows start before the function index ends");
  if (header.rows > fields.size()) return std::nullopt;
  if (rows_end > fields.size()) findings.add(Fact::RowsOutside, places.fre_bytes_at(), "rows end outside the section");
  header.rows_end = std::min(rows_end, fields.size());
  const bool gap = index_from != 0 || header.rows > index_end;
  if (gap && header.function_count != 0)
    findings.add(Fact::Gap, places.fdes_at(), "index and rows do not follow each other and the header");
  survey_gap(fields, header_end, std::max(header.index, header_end), findings);
  if (header.rows > index_end) survey_gap(fields, index_end, header.rows, findings);
  survey_gap(fields, header.rows_end, fields.size(), findings);
  return header;
}

/// `abi`: the file's. No value: the functions cannot be found.
std::optional<SurveyedHeader> survey_header(std::span<const std::byte> bytes, const sframe::AbiTraits& abi,
                                            Findings& findings) {
  constexpr std::uint64_t header_size = sframe::VersionTraits{}.header_size();
  if (bytes.size() < header_size) {
    const bool empty = bytes.empty();
    findings.add(empty ? Fact::Empty : Fact::TooShort, 0, empty ? "it is empty" : "it is shorter than a header");
    return std::nullopt;
  }
  const std::optional<Endian> endian = byte_order_of(bytes);
  if (!endian) {
    findings.add(Fact::NoMagic, 0, "it does not begin with SFrame's magic number");
    return std::nullopt;
  }
  const Fields fields(bytes, *endian);
  if (*endian == Endian::Big) findings.add(Fact::ForeignOrder, 0, "it is big-endian");
  const std::uint8_t number = fields.u8(sframe::header::version_at);
  const sframe::VersionTraits* const version = sframe::find_version(number);
  if (version == nullptr) {
    findings.add(Fact::UnknownVersion, sframe::header::version_at,
                 "version " + std::to_string(number) + " is not known");
    return std::nullopt;
  }
  survey_version(*version, findings);
  const sframe::HeaderFields places(*version);
  const std::uint32_t functions = fields.u32(places.fde_count_at()), rows = fields.u32(places.fre_count_at());
  const std::uint8_t flags = fields.u8(sframe::header::flags_at);
  survey_flags(flags, *version, findings);
  const sframe::AbiTraits& rows_abi = survey_abi(fields, abi, findings);
  if (fields.u8(sframe::header::auxiliary_length_at) != 0)
    findings.add(Fact::AuxiliaryHeader, sframe::header::auxiliary_length_at, "it has an auxiliary header");
  if (functions == 0) findings.add(Fact::NoFunctions, places.fde_count_at(), "it has no functions");
  if (rows == 0) findings.add(Fact::NoRows, places.fre_count_at(), "it has no rows");
  return survey_extents({fields, version, &rows_abi, flags, functions, rows, 0, 0, 0}, findings);
}

class SectionSurvey {
 public:
  SectionSurvey(const SurveyedHeader& header, std::uint64_t address, Findings& findings)
      : header_(header), fields_(header.fields), address_(address), findings_(findings) {}

  std::vector<CodePlace> run(bool is_object) {
    bool complete = true;
    for (std::uint32_t i = 0; i < header_.function_count && complete; ++i) {
      survey_function(i);
      complete = rows_ <= sframe::most_rows(fields_.size());
    }
    const sframe::HeaderFields places(*header_.version);
    if (!complete)
      findings_.add(Fact::TooManyRows, places.fre_count_at(), "its descriptors claim more rows than it has");
    if (complete && followed_ && rows_ != header_.row_count)
      findings_.add(Fact::RowCount, places.fre_count_at(),
                    "number of rows is " + std::to_string(header_.row_count) + ", but the functions have " +
                        std::to_string(rows_));
    survey_sharing();
    // Relocations have yet to say where an object's are.
    if (!is_object) survey_order();
    return std::move(places_);
  }

 private:
  void add(Fact fact, std::uint64_t offset, std::uint32_t function, const std::string& text) {
    findings_.add(fact, offset, "descriptor " + std::to_string(function + 1) + ' ' + text);
  }

  std::uint64_t entry_of(std::uint32_t function) const {
    return header_.index + std::uint64_t{function} * header_.version->descriptor_size;
  }

  std::uint64_t start_of(std::uint64_t entry) const {
    const bool wide = header_.version->start_size == 8;
    const auto distance = wide ? static_cast<std::int64_t>(fields_.u64(entry))
                               : std::int64_t{static_cast<std::int32_t>(fields_.u32(entry))};
    const bool from_field = (header_.flags & sframe::flag::function_start_pc_relative) != 0;
    return address_ + (from_field ? entry : 0) + static_cast<std::uint64_t>(distance);
  }

  void survey_function(std::uint32_t number) {
    const std::uint64_t entry = entry_of(number);
    const std::uint64_t size_at = entry + header_.version->start_size;
    SurveyedFunction function{};
    function.number = number;
    function.start = start_of(entry);
    function.size = fields_.u32(size_at);
    function.begin = header_.rows + fields_.u32(size_at + 4);
    places_.push_back({function.start, function.size, entry, header_.version->start_size});
    const bool has_rows = read_attribute(entry, size_at + 4, function);
    if (!has_rows) {
      followed_ = false;
      return;
    }
    rows_ += function.row_count;
    const std::uint64_t end = survey_rows(header_, function, findings_);
    followed_ = followed_ && end != 0;
    if (end > function.begin) blocks_.push_back({function.begin, end, number});
  }

  /// False: its rows cannot be found.
  bool read_attribute(std::uint64_t entry, std::uint64_t rows_field, SurveyedFunction& function) {
    const bool split = header_.version->splits_descriptor;
    constexpr std::uint64_t attribute_size = 5;
    const std::uint64_t needed = split ? attribute_size : 0;
    if (function.begin > header_.rows_end || header_.rows_end - function.begin < needed) {
      add(Fact::FunctionRowsOutside, rows_field, function.number, "has rows outside the section's");
      return false;
    }
    const std::uint64_t info_at = split ? function.begin + sframe::fde_attribute::info_at : entry + 16;
    function.row_count = split ? fields_.u16(function.begin) : fields_.u32(entry + 12);
    function.rows = function.begin + needed;
    if (split) {
      read_type(function.begin + sframe::fde_attribute::info2_at, function);
      function.repeat_size = fields_.u8(function.begin + sframe::fde_attribute::repeat_size_at);
    } else if (header_.version->has_repeat_size) {
      function.repeat_size = fields_.u8(entry + 17);
      if (fields_.u16(entry + 18) != 0)
        add(Fact::ReservedBits, entry + 18, function.number, "has padding that is not 0");
    }
    return read_info(info_at, function);
  }

  bool read_info(std::uint64_t at, SurveyedFunction& function) {
    const sframe::FdeInfo info(fields_.u8(at));
    if (info.fre_type() > static_cast<unsigned>(sframe::FreAddressWidth::Four)) {
      add(Fact::UndefinedRowType, at, function.number, "has rows of an undefined type");
      return false;
    }
    function.start_width = 1U << info.fre_type();
    function.pc_type = info.pc_type();
    if ((info.byte() & header_.version->reserved_fde_info) != 0)
      add(Fact::ReservedBits, at, function.number, "has reserved bits set");
    if (info.b_key() && !header_.abi->signs_return_address)
      add(Fact::StrayKey, at, function.number, "names a signing key, which this ABI has not");
    if (header_.version->has_repeat_size && info.pc_type() == sframe::PcType::Mask && function.repeat_size == 0)
      add(Fact::NoRepeatSize, at, function.number, "repeats a block of no bytes");
    return true;
  }

  void read_type(std::uint64_t at, SurveyedFunction& function) {
    const sframe::FdeInfo2 info2(fields_.u8(at));
    if (info2.fde_type() > static_cast<unsigned>(sframe::FdeType::Flexible))
      add(Fact::UndefinedType, at, function.number, "is of an undefined type");
    if (info2.reserved_bits_set()) add(Fact::ReservedBits, at, function.number, "has reserved bits set");
    const bool flexible = info2.fde_type() == static_cast<unsigned>(sframe::FdeType::Flexible);
    function.type = flexible ? sframe::FdeType::Flexible : sframe::FdeType::Default;
  }

  void survey_sharing() {
    std::ranges::sort(blocks_, {}, &Block::begin);
    for (std::size_t i = 1; i < blocks_.size(); ++i) {
      if (blocks_[i].begin >= blocks_[i - 1].end) continue;
      const std::uint32_t second = std::max(blocks_[i].function, blocks_[i - 1].function);
      return add(Fact::SharedRows, entry_of(second), second, "shares rows with another one");
    }
  }

  void survey_order() {
    const bool flagged = (header_.flags & sframe::flag::sorted) != 0;
    for (std::uint32_t i = 1; i < places_.size() && flagged; ++i) {
      const CodePlace &before = places_[i - 1], &place = places_[i];
      if (place.start < before.start) {
        add(Fact::NotSorted, entry_of(i), i, "comes after one with a higher start");
      } else if (place.start == before.start) {
        add(Fact::EqualStarts, entry_of(i), i, "starts where the one before it does");
      } else if (place.start - before.start < before.size) {
        add(Fact::Overlap, entry_of(i), i, "overlaps the one before it");
      }
    }
  }

  struct Block {
    std::uint64_t begin, end;  ///< offsets in the section
    std::uint32_t function;
  };

  const SurveyedHeader& header_;
  const Fields& fields_;
  std::uint64_t address_;
  Findings& findings_;
  std::vector<CodePlace> places_;
  std::vector<Block> blocks_;
  std::uint64_t rows_ = 0;
  bool followed_ = true;  ///< all rows were found
};

}  // namespace

std::optional<std::vector<CodePlace>> survey_section(std::span<const std::byte> bytes, std::uint64_t address,
                                                     const sframe::AbiTraits& abi, bool is_object, Findings& findings) {
  const std::optional<SurveyedHeader> header = survey_header(bytes, abi, findings);
  if (!header) return std::nullopt;
  return SectionSurvey(*header, address, findings).run(is_object);
}

namespace {

void survey_segments(const elf::Image& image, const Elf64_Shdr& section, Findings& findings) {
  const Elf64_Phdr* const segment = image.find_segment(elf::segment_type_gnu_sframe);
  if (segment == nullptr || segment->p_vaddr != section.sh_addr)
    findings.add(Fact::NoSegment,
                 segment == nullptr ? "no program header leads to it" : "its program header leads to another place");
  const auto loads = [&](const Elf64_Phdr& load) {
    return load.p_type == PT_LOAD && (load.p_flags & PF_R) != 0 && elf::holds_section(load, section);
  };
  if ((section.sh_flags & SHF_ALLOC) == 0 || std::ranges::none_of(image.segments(), loads))
    findings.add(Fact::NotLoaded, "it is not loaded as a whole");
}

/// By their addresses, which ascend in a file that anybody loads.
std::vector<Elf64_Phdr> executable_segments(const elf::Image& image) {
  std::vector<Elf64_Phdr> segments;
  std::ranges::copy_if(image.segments(), std::back_inserter(segments), [](const Elf64_Phdr& segment) {
    return segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0;
  });
  std::ranges::stable_sort(segments, {}, &Elf64_Phdr::p_vaddr);
  return segments;
}

void survey_code(const elf::Image& image, const std::vector<CodePlace>& places, Findings& findings) {
  const std::vector<Elf64_Phdr> segments = executable_segments(image);
  auto only = segments.end();
  for (const CodePlace& place : places) {
    const auto behind = std::ranges::upper_bound(segments, place.start, {}, &Elf64_Phdr::p_vaddr);
    const auto found = behind == segments.begin() ? segments.end() : std::prev(behind);
    if (found == segments.end() || !elf::holds_address(*found, place.start) ||
        place.size > found->p_memsz - (place.start - found->p_vaddr)) {
      findings.add(Fact::OutsideCode, "the function at " + hex(place.start) + " is outside all executable segments");
      continue;
    }
    if (only != segments.end() && only != found)
      findings.add(Fact::SeveralCodes, "its functions are in several executable segments");
    only = found;
  }
}

/// Of type SHT_RELA: no machine of SFrame's has others.
std::vector<Elf64_Rela> relocations_of(const elf::Image& object, const elf::Section& section) {
  std::vector<Elf64_Rela> relocations;
  const object::RelocationTables tables(object);
  for (const std::uint32_t index : tables.for_section(section.index)) {
    const elf::Section& table = object.sections()[index];
    const auto bytes = object.bytes_of(table);
    if (table.header.sh_type != SHT_RELA) continue;
    for (std::size_t at = 0; at + sizeof(Elf64_Rela) <= bytes.size(); at += sizeof(Elf64_Rela))
      relocations.push_back(elf::load_relocation(bytes.subspan(at), object.endian()));
  }
  // What is left of functions that were discarded (GNU ld with -r).
  std::erase_if(relocations, [](const Elf64_Rela& relocation) { return ELF64_R_TYPE(relocation.r_info) == 0; });
  return relocations;
}

void survey_relocations(const elf::Image& object, const elf::Section& section, const std::vector<CodePlace>& places,
                        Findings& findings) {
  const auto relocations = relocations_of(object, section);
  if (relocations.size() != places.size()) {
    return findings.add(Fact::WrongRelocations, "it has " + count_of(relocations.size(), "relocation") + " for " +
                                                    count_of(places.size(), "function"));
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::string number = "relocation " + std::to_string(i + 1);
    if (relocations[i].r_offset != places[i].field)
      return findings.add(Fact::WrongRelocations, places[i].field, number + " is not for this function's start");
    const auto type = static_cast<std::uint32_t>(ELF64_R_TYPE(relocations[i].r_info));
    if (type != object::pc_relative_relocation(object.header().e_machine, places[i].field_size))
      return findings.add(Fact::WrongRelocations, places[i].field, number + " is not relative to its field");
  }
}

}  // namespace

Findings survey_file(const elf::Image& image, const elf::Section& section) {
  Findings findings;
  const elf::Machine& machine = elf::machine_of(image);
  const bool is_object = image.is_object();
  if (!is_object) survey_segments(image, section.header, findings);
  if (is_object && section.header.sh_type != elf::section_type_gnu_sframe)
    findings.add(Fact::PlainType, "its section type is not SHT_GNU_SFRAME");
  const auto places = survey_section(image.bytes_of(section), section.header.sh_addr, sframe::traits_of(machine.abi),
                                     is_object, findings);
  if (!places) return findings;
  if (is_object) {
    survey_relocations(image, section, *places, findings);
  } else {
    survey_code(image, *places, findings);
  }
  return findings;
}

}  // namespace sframe_gen::readers
