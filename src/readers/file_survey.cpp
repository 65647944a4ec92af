#include "readers/file_survey.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "elf/load_lookup.hpp"
#include "elf/machine.hpp"
#include "elf/records.hpp"
#include "object/relocation_tables.hpp"
#include "object/relocation_type.hpp"
#include "readers/section_survey.hpp"
#include "support/text.hpp"

namespace sframe_gen::readers {
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
