#include "readers/survey.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "elf/image.hpp"
#include "elf/machine.hpp"
#include "elf/object/preconditions.hpp"
#include "elf/object/relocations.hpp"
#include "elf/records.hpp"
#include "sframe/section_walk.hpp"
#include "support/text.hpp"

namespace sframe_gen::readers {
namespace {

using sframe::Fault;
using sframe::Problem;
using sframe::Version;

/// The facts that problems are. No reader minds the others, or another fact says more.
constexpr std::pair<Problem, Fact> facts_of_problems[]{
    {Problem::NoMagic, Fact::NoMagic},
    {Problem::UnknownVersion, Fact::UnknownVersion},
    {Problem::UnknownFlags, Fact::UnknownFlags},
    {Problem::FixedFp, Fact::FixedFp},
    {Problem::FixedRa, Fact::OtherFixedRa},
    {Problem::IndexOutside, Fact::IndexOutside},
    {Problem::RowsInIndex, Fact::RowsInIndex},
    {Problem::RowsOutside, Fact::RowsOutside},
    {Problem::StrayBytes, Fact::StrayBytes},
    {Problem::RowCount, Fact::RowCount},
    {Problem::TooManyRows, Fact::TooManyRows},
    {Problem::NotSorted, Fact::NotSorted},
    {Problem::Overlap, Fact::Overlap},
    {Problem::FunctionRowsOutside, Fact::FunctionRowsOutside},
    {Problem::AttributeCut, Fact::FunctionRowsOutside},
    {Problem::UndefinedRowType, Fact::UndefinedRowType},
    {Problem::ReservedInfo, Fact::ReservedBits},
    {Problem::ReservedInfo2, Fact::ReservedBits},
    {Problem::Padding, Fact::ReservedBits},
    {Problem::ReservedControlBit, Fact::ReservedControlBit},
    {Problem::StrayRegister, Fact::ReservedBits},
    {Problem::StrayKey, Fact::StrayKey},
    {Problem::UndefinedType, Fact::UndefinedType},
    {Problem::NoRepeatSize, Fact::NoRepeatSize},
    {Problem::RowCut, Fact::RowOutside},
    {Problem::RowNotAscending, Fact::RowNotAscending},
    {Problem::RowBeyondFunction, Fact::RowBeyondFunction},
    {Problem::RowAtEnd, Fact::RowAtEnd},
    {Problem::RowBeyondBlock, Fact::RowBeyondBlock},
    {Problem::UndefinedWordSize, Fact::UndefinedWordSize},
    {Problem::StraySignature, Fact::StraySignature},
    {Problem::SpareWords, Fact::SpareWords},
    {Problem::NoOffsetWord, Fact::BadFlexible},
    {Problem::NoCfaRegister, Fact::BadFlexible},
    {Problem::WordsLeftOver, Fact::BadFlexible},
    {Problem::EndsInPadding, Fact::BadFlexible},
};

std::optional<Fact> fact_of(Problem problem) {
  const auto* const found = std::ranges::find(facts_of_problems, problem, &std::pair<Problem, Fact>::first);
  return found == std::end(facts_of_problems) ? std::nullopt : std::optional(found->second);
}

/// Notes what the parser finds, and what readers ask besides.
class Survey {
 public:
  /// `abi`: the file's.
  Survey(const sframe::AbiTraits& abi, bool is_object, Findings& findings)
      : abi_(abi), is_object_(is_object), findings_(findings) {}

  std::optional<std::vector<CodePlace>> run(std::span<const std::byte> bytes, std::uint64_t address) {
    if (bytes.size() < sframe::VersionTraits{}.header_size()) {
      const bool empty = bytes.empty();
      findings_.add(empty ? Fact::Empty : Fact::TooShort, 0, empty ? "it is empty" : "it is shorter than a header");
      return std::nullopt;
    }
    const auto faults = [this](const Fault& found) { return fault(found); };
    if (!read_header(bytes, address, sframe::Family::SFrame, faults, header_, &abi_)) return std::nullopt;
    survey_header();
    survey_extents();
    if (fields().index == nullptr) return std::nullopt;
    sframe::SectionWalk(header_, *this).run();
    survey_sharing();
    return std::move(places_);
  }

  // What SectionWalk asks for.

  bool fault(const Fault& fault) {
    if (fault.problem == Problem::UndefinedType) {
      undefined_type_ = fault;
      return true;
    }
    const std::optional<Fact> fact = fact_of(fault.problem);
    // Readers that expect the rows right after the index do not mind where the header has them.
    if (fault.problem == Problem::RowsOutside && header_.rows_begin > header_.bytes.size()) return true;
    // Relocations have yet to say where an object's functions are. A stub that repeats has rows of its block.
    const bool is_moot = (is_object_ && (fact == Fact::NotSorted || fact == Fact::Overlap)) ||
                         (repeats_ && (fact == Fact::RowBeyondFunction || fact == Fact::RowAtEnd)) ||
                         (!repeats_ && fact == Fact::RowBeyondBlock);
    if (fact && !is_moot) add(*fact, fault);
    return true;
  }

  void function(const sframe::FdeFields& fde) {
    const auto note = [&](Fact fact, const char* what) {
      if (!findings_.has(fact)) add(fact, fde.entry, "FDE " + std::to_string(places_.size() + 1) + ' ' + what);
    };
    const bool has_equal_start = !places_.empty() && places_.back().start == fde.start;
    if (has_equal_start && is_flagged_sorted() && !is_object_)
      note(Fact::EqualStarts, "starts where the one before it does");
    if (fde.row_count == 0 && fde.size != 0) note(Fact::FunctionWithoutRows, "has no rows");
    if (fde.row_count > fde.size) note(Fact::MoreRowsThanBytes, "has more rows than bytes");
    if (undefined_type_ && undefined_type_->function != places_.size()) undefined_type_.reset();
    places_.push_back({fde.start, fde.size, header_.offset_of(fde.entry), header_.version->start_size});
    row_ = 0;
    repeats_ = fde.info.pc_type() == sframe::PcType::Mask;
    is_flexible_ = fde.is_flexible();
  }

  void row(const sframe::FreFields& fre, const sframe::RecoveryRules* rules) {
    constexpr unsigned most_words = 6;
    const unsigned words = fre.info.word_count();
    ++row_;
    const auto note = [&](Fact fact, std::string_view what) {
      if (findings_.has(fact)) return;
      add(fact, fre.words - 1,
          "row " + std::to_string(row_) + " of FDE " + std::to_string(places_.size()) + ' ' + std::string(what));
    };
    if (row_ == 1 && fre.start != 0) note(Fact::FirstRowLate, "starts after its function, which has none before");
    if (words == 0) return note(Fact::NoWords, "has no data words");
    if (words > most_words) note(Fact::RowTooLong, "has more data words than any form");
    const unsigned header_leaves =
        1U + (header_.fixed_ra_offset == 0 ? 1U : 0U) + (header_.fixed_fp_offset == 0 ? 1U : 0U);
    if (!is_flexible_ && words > header_leaves)
      note(Fact::WordsOfFixedOffsets, "has more data words than the header's fixed offsets leave");
    if (undefined_type_) add(Fact::UndefinedType, *undefined_type_);
    if (rules != nullptr) survey_rules(*rules, words, note);
  }

  void end(const sframe::FdeFields& fde, const std::byte* end) {
    const std::uint64_t begin = header_.rows_begin + fde.rows_at;
    if (header_.offset_of(end) > begin)
      blocks_.push_back({begin, header_.offset_of(end), static_cast<std::uint32_t>(places_.size() - 1)});
  }

 private:
  struct Block {
    std::uint64_t begin, end;  ///< offsets in the section
    std::uint32_t function;
  };

  const sframe::SectionFields& fields() const { return header_.fields; }
  bool is_flagged_sorted() const { return (fields().flags & sframe::flag::sorted) != 0; }
  std::uint8_t header_byte(std::uint32_t at) const { return std::to_integer<std::uint8_t>(header_.bytes[at]); }

  void add(Fact fact, std::uint64_t offset, std::string text) { findings_.add(fact, offset, std::move(text)); }
  void add(Fact fact, const std::byte* at, std::string text) { add(fact, header_.offset_of(at), std::move(text)); }

  void add(Fact fact, const Fault& fault) {
    if (!findings_.has(fact)) add(fact, fault.at, subject_of(fault) + sentence_of(fault, header_));
  }

  template <typename Note>
  void survey_rules(const sframe::RecoveryRules& rules, unsigned words, const Note& note) const {
    if (is_cfa_itself(rules.return_address) || is_cfa_itself(rules.frame_pointer))
      note(Fact::RuleOfCfaItself, "has the RA or FP at a distance from the CFA, and not stored there");
    if (!is_flexible_ && rules.frame_pointer == sframe::Rule::at_cfa(0))
      note(Fact::FramePointerAtCfa, "has the FP saved at the CFA itself");
    // s390x has this word for "unchanged", and every reader knows it there.
    const bool has_return_address = !is_flexible_ && words > 1 && fields().abi->tracks_return_address &&
                                    !fields().abi->pads_return_address && !header_.version->frame_pointer_first;
    if (has_return_address && !rules.return_address) note(Fact::ZeroReturnAddress, "has the word 0 for the RA");
    for (const auto& rule : {std::optional(rules.cfa), rules.return_address, rules.frame_pointer})
      if (rule && rule->base_register && *rule->base_register >= known_registers())
        note(sframe::is_machine_register(*fields().abi, *rule->base_register) ? Fact::UnusualRegister
                                                                              : Fact::NoSuchRegister,
             "counts from register " + std::to_string(*rule->base_register));
  }

  /// How many registers Linux has values of. It keeps five bits of a number.
  std::uint32_t known_registers() const { return fields().abi->abi == sframe::Abi::Amd64 ? 16 : 32; }

  static bool is_cfa_itself(const std::optional<sframe::Rule>& rule) {
    return rule && !rule->base_register && !rule->dereferenced;
  }

  /// "row 2 of FDE 1: ", "FDE 1: ", or nothing.
  static std::string subject_of(const Fault& fault) {
    if (fault.problem == Problem::UnknownVersion) return "it ";
    if (fault.problem < Problem::StartOutside) return "";
    const std::string function = "FDE " + std::to_string(fault.function + 1) + ": ";
    return fault.problem < Problem::RowCut ? function : "row " + std::to_string(fault.row + 1) + " of " + function;
  }

  void survey_header() {
    using sframe::header::abi_at, sframe::header::flags_at, sframe::header::auxiliary_length_at;
    const sframe::VersionTraits& version = *header_.version;
    add(version.version == Version::V1   ? Fact::Version1
        : version.version == Version::V2 ? Fact::Version2
                                         : Fact::Version3,
        sframe::header::version_at, "it is " + std::string(version.name));
    if (fields().endian == Endian::Big) add(Fact::ForeignOrder, std::uint64_t{0}, "it is big-endian");
    if (!is_flagged_sorted()) add(Fact::NotFlaggedSorted, flags_at, "its index is not flagged as sorted");
    if ((fields().flags & sframe::flag::function_start_pc_relative) != 0) {
      add(Fact::StartsFromField, flags_at, "function starts are relative to their own fields");
    } else {
      add(Fact::StartsFromSection, flags_at, "function starts are relative to the section");
    }
    const std::uint8_t named = header_byte(abi_at);
    if (sframe::find_abi(named) == nullptr) {
      add(named == 0 ? Fact::NoAbi : Fact::UnknownAbi, abi_at, "ABI is " + hex(named) + ", which is not defined");
    } else if (fields().abi->abi != abi_.abi) {
      add(Fact::OtherAbi, abi_at,
          "ABI is " + std::string(name_of(fields().abi->abi)) + ", but the file is for " +
              std::string(name_of(abi_.abi)));
    }
    if (fields().abi->abi == sframe::Abi::S390x) add(Fact::S390x, abi_at, "it is for s390x");
    if (header_byte(auxiliary_length_at) != 0)
      add(Fact::AuxiliaryHeader, auxiliary_length_at, "it has an auxiliary header");
  }

  void survey_extents() {
    const sframe::HeaderFields at(*header_.version);
    if (fields().count == 0) add(Fact::NoFunctions, at.fde_count_at(), "it has no functions");
    if (fields().row_count == 0) add(Fact::NoRows, at.fre_count_at(), "it has no rows");
    if (header_.index_begin > header_.rows_begin)
      add(Fact::RowsBeforeIndex, at.fres_at(), "rows start before the function index");
    if (header_.bytes.size() == header_.end && fields().count != 0)
      add(Fact::HeaderAlone, at.fde_count_at(), "it ends with its header");
    if (header_.rows_begin > header_.bytes.size())
      add(Fact::RowsBeginOutside, at.fres_at(), "rows begin outside the section");
    const bool gap = header_.index_begin != header_.end || header_.rows_begin > header_.index_end;
    if (gap && fields().count != 0 && fields().index != nullptr)
      add(Fact::Gap, at.fdes_at(), "index and rows do not follow each other and the header");
  }

  void survey_sharing() {
    std::ranges::sort(blocks_, {}, &Block::begin);
    for (std::size_t i = 1; i < blocks_.size(); ++i) {
      if (blocks_[i].begin >= blocks_[i - 1].end) continue;
      const std::uint32_t second = std::max(blocks_[i].function, blocks_[i - 1].function);
      return add(Fact::SharedRows, places_[second].field,
                 "FDE " + std::to_string(second + 1) + " shares rows with another one");
    }
  }

  const sframe::AbiTraits& abi_;
  bool is_object_;
  Findings& findings_;
  sframe::Header header_;
  std::vector<CodePlace> places_;
  std::vector<Block> blocks_;
  std::uint32_t row_ = 0;                       ///< the last one of the function, from 1
  bool repeats_ = false, is_flexible_ = false;  ///< the function
  std::optional<Fault> undefined_type_;         ///< the function's, or of one before it
};

/// How far the last page of the PT_LOAD's bytes in the file reaches after them. Machines with larger pages map more.
std::uint64_t rest_of_page(const Elf64_Phdr& load) {
  constexpr std::uint64_t smallest_page = 0x1000;
  return -(load.p_vaddr + load.p_filesz) % smallest_page;
}

/// `segment` leads to the section, which `load` holds.
void survey_size(const Elf64_Phdr& segment, const Elf64_Phdr& load, const Elf64_Shdr& section, Findings& findings) {
  if (segment.p_memsz < section.sh_size)
    findings.add(Fact::SegmentSize, "its program header has " + std::to_string(segment.p_memsz) + " of its " +
                                        count_of(section.sh_size, "byte"));
  const std::uint64_t room = load.p_filesz - (section.sh_addr - load.p_vaddr) + rest_of_page(load);
  if (segment.p_memsz > room)
    findings.add(Fact::SegmentSize, "its program header ends outside the PT_LOAD that it is in");
}

void survey_segments(const elf::Image& image, const Elf64_Shdr& section, Findings& findings) {
  const Elf64_Phdr* const segment = elf::find_sframe_segment(image);
  const bool leads_to_it = segment != nullptr && segment->p_vaddr == section.sh_addr;
  if (!leads_to_it)
    findings.add(Fact::NoSegment,
                 segment == nullptr ? "no program header leads to it" : "its program header leads to another place");
  const auto is_other = [&](const Elf64_Phdr& other) {
    return other.p_type == elf::segment_type_gnu_sframe && other.p_vaddr != section.sh_addr;
  };
  if (std::ranges::any_of(image.segments(), is_other))
    findings.add(Fact::OtherSegment, "another PT_GNU_SFRAME leads to another place");
  const auto loads = [&](const Elf64_Phdr& load) {
    return load.p_type == PT_LOAD && (load.p_flags & PF_R) != 0 && elf::holds_section(load, section);
  };
  const auto load = std::ranges::find_if(image.segments(), loads);
  if ((section.sh_flags & SHF_ALLOC) == 0 || load == image.segments().end()) {
    findings.add(Fact::NotLoaded, "it is not loaded as a whole");
  } else if (leads_to_it) {
    survey_size(*segment, *load, section, findings);
  }
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

/// Linux takes each for a range of code.
void survey_executable_headers(const elf::Image& image, Findings& findings) {
  if (const auto number = executable_header(image))
    findings.add(Fact::ExecutableHeader,
                 "program header " + std::to_string(*number + 1) + " is executable, but no PT_LOAD");
  if (const auto number = code_with_bss(image))
    findings.add(Fact::CodeWithBss, "the executable segment of program header " + std::to_string(*number + 1) +
                                        " goes on after the pages of its bytes in the file");
}

/// Linux searches the functions of all segments, and drops the section if it finds one of another segment.
void survey_beginnings(const std::vector<Elf64_Phdr>& segments, const std::vector<CodePlace>& places,
                       Findings& findings) {
  std::vector<std::uint64_t> starts;
  starts.reserve(places.size());
  for (const CodePlace& place : places) starts.push_back(place.start);
  std::ranges::sort(starts);
  for (const Elf64_Phdr& segment : segments) {
    const auto first = std::ranges::lower_bound(starts, segment.p_vaddr);
    const bool begins_it = first != starts.end() && *first == segment.p_vaddr;
    if (segment.p_memsz != 0 && first != starts.begin() && !begins_it)
      findings.add(Fact::CodeBeforeItsFunctions,
                   "the executable segment at " + hex(segment.p_vaddr) + " does not begin with a function");
  }
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
  survey_beginnings(segments, places, findings);
}

/// Reads SHT_RELA only: no architecture of SFrame has other relocations.
std::vector<Elf64_Rela> relocations_of(const elf::Image& object, const elf::Section& section) {
  std::vector<Elf64_Rela> relocations;
  const elf::object::RelocationTables tables(object);
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
    if (type != elf::object::pc_relative_relocation(object.header().e_machine, places[i].field_size))
      return findings.add(Fact::WrongRelocations, places[i].field, number + " is not relative to its field");
  }
}

}  // namespace

std::optional<std::vector<CodePlace>> survey_section(std::span<const std::byte> bytes, std::uint64_t address,
                                                     const sframe::AbiTraits& abi, bool is_object, Findings& findings) {
  return Survey(abi, is_object, findings).run(bytes, address);
}

std::optional<std::size_t> executable_header(const elf::Image& image) {
  const std::span<const Elf64_Phdr> headers = image.segments();
  const auto is_executable = [](const Elf64_Phdr& header) {
    return (header.p_flags & PF_X) != 0 && header.p_memsz != 0;
  };
  for (std::size_t i = 0; i < headers.size(); ++i) {
    if (headers[i].p_type == PT_LOAD || !is_executable(headers[i])) continue;
    const auto later = headers.subspan(i + 1);
    const auto holds_it = [&](const Elf64_Phdr& load) {
      return load.p_type == PT_LOAD && is_executable(load) && elf::holds_address(load, headers[i].p_vaddr);
    };
    if (std::ranges::any_of(later, holds_it)) return i;
  }
  return std::nullopt;
}

std::optional<std::size_t> code_with_bss(const elf::Image& image) {
  const std::vector<Elf64_Phdr>& headers = image.segments();
  const auto found = std::ranges::find_if(headers, [](const Elf64_Phdr& load) {
    return load.p_type == PT_LOAD && (load.p_flags & PF_X) != 0 && load.p_filesz != 0 && load.p_memsz > load.p_filesz &&
           load.p_memsz - load.p_filesz > rest_of_page(load);
  });
  if (found == headers.end()) return std::nullopt;
  return static_cast<std::size_t>(found - headers.begin());
}

Findings survey_file(const elf::Image& image, const elf::Section& section) {
  Findings findings;
  const elf::Machine& machine = elf::machine_of(image);
  const bool is_object = image.is_object();
  if (is_object) elf::object::check_contents_apart(image);
  if (!is_object) survey_segments(image, section.header, findings);
  if (is_object && section.header.sh_type != elf::section_type_gnu_sframe)
    findings.add(Fact::PlainType, "its section type is not SHT_GNU_SFRAME");
  const auto places = survey_section(image.bytes_of(section), section.header.sh_addr, sframe::traits_of(machine.abi),
                                     is_object, findings);
  if (!places) return findings;
  if (is_object) {
    survey_relocations(image, section, *places, findings);
  } else {
    survey_executable_headers(image, findings);
    survey_code(image, *places, findings);
  }
  return findings;
}

}  // namespace sframe_gen::readers
