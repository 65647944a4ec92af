#include "rewrite/plan/removal.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "elf/preconditions.hpp"
#include "rewrite/plan/existing_sframe.hpp"
#include "support/text.hpp"

namespace sframe_gen::rewrite {

namespace {

/// Whether the PT_LOAD that ends with the section may end before it.
bool may_end_before(const elf::Image& image, const elf::NewSection& removed, const ExistingSframe& existing) {
  if (!existing.load || !existing.is_last) return false;
  const Range given_up{existing.bytes.begin, elf::file_range(image.segments()[*existing.load]).end};
  const auto is_in_it = [&](const Elf64_Phdr& other) {
    const bool counts = other.p_type != PT_NULL && other.p_type != PT_LOAD && other.p_type != removed.segment_type;
    return counts && elf::file_range(other).overlaps(given_up);
  };
  return !image.segment_table().overlaps(given_up) && std::ranges::none_of(image.segments(), is_in_it);
}

/// Returns the program headers, as many as there were: their number is in the ELF header and, in programs that got
/// pages below their own, in the copy of it in memory.
std::vector<Elf64_Phdr> segments_without(const elf::Image& image, const elf::NewSection& removed,
                                         const ExistingSframe& existing) {
  std::vector<Elf64_Phdr> segments = image.segments();
  if (may_end_before(image, removed, existing)) {
    Elf64_Phdr& load = segments[*existing.load];
    const std::uint64_t size = existing.bytes.begin - load.p_offset;
    // The first PT_LOAD says where the file is in memory.
    const bool is_first = &load == &*std::ranges::find(segments, std::uint32_t{PT_LOAD}, &Elf64_Phdr::p_type);
    if (size != 0) {
      load.p_filesz = load.p_memsz = size;
    } else if (!is_first) {
      load.p_type = PT_NULL;
    }
  }
  std::erase_if(segments, [&](const Elf64_Phdr& segment) {
    return segment.p_type == PT_NULL || segment.p_type == removed.segment_type;
  });
  segments.resize(image.segments().size());
  return segments;
}

/// Throws Refused if the file would lack `section`.
void check_not_needed(const elf::Image& image, const elf::Section& section) {
  const auto refuse = [&](const std::string& why) {
    throw Refused(image.name(), "cannot remove " + section.name + ": " + why);
  };
  if (section.header.sh_type != SHT_PROGBITS && section.header.sh_type != elf::section_type_gnu_sframe)
    refuse("it has type " + hex(section.header.sh_type));
  if (section.index == image.section_name_table_index()) refuse("it holds the section names");
  for (const elf::Section& other : image.sections())
    if (other.header.sh_link == section.index && other.header.sh_type != SHT_NULL) refuse(other.name + " refers to it");
}

/// The section header table keeps its end: bytes after it that no header describes would be in the way of a conversion.
void remove_sections(const elf::Image& image, const ExistingSframe& existing, Layout& layout) {
  layout.new_index_of.resize(image.sections().size());
  for (const elf::Section& section : image.sections()) {
    const bool is_kept = section.index != existing.section && section.index != existing.undo_section;
    // For its section symbol.
    layout.new_index_of[section.index] = is_kept ? static_cast<std::uint32_t>(layout.sections.size()) : SHN_ABS;
    if (!is_kept) {
      check_not_needed(image, section);
      continue;
    }
    layout.sections.push_back(section);
    layout.sections.back().index = layout.new_index_of[section.index];
  }
  remap_links(layout);
  const elf::Section& names = image.sections()[image.section_name_table_index()];
  const auto bytes = image.bytes_of(names);
  layout.section_names.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  layout.header.e_shstrndx = static_cast<std::uint16_t>(layout.new_index_of[names.index]);
  layout.header.e_shnum = static_cast<std::uint16_t>(layout.sections.size());
  layout.header.e_shoff = image.section_table().end - layout.sections.size() * sizeof(Elf64_Shdr);
}

}  // namespace

Layout plan_removal(const elf::Image& image, const elf::NewSection& removed) {
  if (image.find_section(removed.name) == nullptr)
    throw Refused(image.name(), "no " + std::string(removed.name) + " section to remove");
  elf::check_preconditions(image);
  const ExistingSframe existing = find_existing_sframe(image, removed);
  Layout layout;
  layout.section = removed;
  layout.section_offset = existing.bytes.begin;
  layout.section_size = existing.bytes.size();
  layout.header = image.header();
  layout.segments = segments_without(image, removed, existing);
  layout.dropped = {existing.bytes, existing.undo_bytes};
  layout.file_size = image.file_bytes().size();
  const auto is_in_undo = [&](const Elf64_Phdr& segment) {
    return elf::file_range(segment).overlaps(existing.undo_bytes);
  };
  if (existing.undo_bytes.end == layout.file_size && std::ranges::none_of(image.segments(), is_in_undo))
    layout.file_size = existing.undo_bytes.begin;
  if (image.has_section_headers()) {
    layout.dropped.push_back(image.section_table());
    remove_sections(image, existing, layout);
  } else {
    layout.header.e_shoff = layout.header.e_shnum = 0;
    layout.header.e_shstrndx = SHN_UNDEF;
  }
  std::erase_if(layout.dropped, [](const Range& range) { return range.empty(); });
  std::ranges::sort(layout.dropped, {}, &Range::begin);
  layout.copied_size = layout.file_size;
  layout.growth = static_cast<std::int64_t>(layout.file_size) - static_cast<std::int64_t>(image.file_bytes().size());
  return layout;
}

}  // namespace sframe_gen::rewrite
