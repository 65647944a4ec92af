#include "elf/plan/section_table.hpp"

#include <algorithm>

#include "elf/load_lookup.hpp"

namespace sframe_gen::elf {

namespace {

bool is_allocated(const Section& section) {
  return (section.header.sh_flags & SHF_ALLOC) != 0;
}

/// .tbss has an address, but the sections behind it have the same.
bool is_thread_local_space(const Section& section) {
  return (section.header.sh_flags & SHF_TLS) != 0 && section.header.sh_type == SHT_NOBITS;
}

void insert_by_address(std::vector<Section>& sections, const Section& section) {
  auto place = std::find_if(sections.begin(), sections.end(), [&](const Section& other) {
    return is_allocated(other) && !is_thread_local_space(other) && other.header.sh_addr > section.header.sh_addr;
  });
  if (place == sections.end()) {
    const auto last = std::find_if(sections.rbegin(), sections.rend(), is_allocated);
    place = last == sections.rend() ? sections.begin() + 1 : last.base();
  }
  sections.insert(place, section);
}

}  // namespace

SectionTable::SectionTable(const Image& image, const OffsetMap& load_map, const OffsetMap& map)
    : image_(&image), load_map_(&load_map), map_(&map), sections_(image.sections()) {
  for (Section& section : sections_) section.header.sh_offset = new_offset(section);
}

std::uint64_t SectionTable::new_offset(const Section& section) const {
  const Elf64_Shdr& header = section.header;
  if (header.sh_type == SHT_NULL) return header.sh_offset;
  const Elf64_Phdr* load =
      is_allocated(section) ? find_load(*image_, header.sh_addr, header.sh_size, header.sh_offset) : nullptr;
  // A .tbss may lie outside every PT_LOAD, but it stands behind .tdata.
  if (load == nullptr && is_allocated(section)) load = image_->find_segment(PT_TLS);
  // mold gives sections without bytes no place in the file.
  const bool has_place = header.sh_offset != 0 && (load == nullptr || header.sh_offset >= load->p_offset);
  if (header.sh_type == SHT_NOBITS && !has_place) return header.sh_offset;
  if (load == nullptr || (load->p_type == PT_TLS && !is_thread_local_space(section))) return (*map_)(header.sh_offset);
  return header.sh_offset + ((*load_map_)(load->p_offset) - load->p_offset);
}

void SectionTable::move(std::uint32_t index, std::uint64_t offset, std::uint64_t address) {
  sections_[index].header.sh_offset = offset;
  sections_[index].header.sh_addr = address;
  moved_.push_back(index);
}

void SectionTable::set_section(const NewSection& section, std::optional<std::uint32_t> old_index, std::uint64_t offset,
                               std::uint64_t address, std::uint64_t size) {
  added_ = old_index.value_or(static_cast<std::uint32_t>(sections_.size()));
  if (!old_index) sections_.push_back({{}, std::string(section.name), added_});
  Elf64_Shdr& header = sections_[added_].header;
  const std::uint32_t name = header.sh_name;
  header = {name, section.type, SHF_ALLOC, address, offset, size, 0, 0, section.alignment, 0};
  moved_.push_back(added_);
}

void SectionTable::set_undo(const NewSection& section, std::optional<std::uint32_t> old_index) {
  undo_ = old_index.value_or(static_cast<std::uint32_t>(sections_.size()));
  if (!old_index) sections_.push_back({{}, std::string(section.undo_name), *undo_});
  Elf64_Shdr& header = sections_[*undo_].header;
  header = {header.sh_name, SHT_PROGBITS, 0, 0, 0, 0, 0, 0, 1, 0};
}

void SectionTable::cover_old_headers(const OldHeaders& headers) {
  const auto index = static_cast<std::uint32_t>(sections_.size());
  sections_.push_back({{0, SHT_PROGBITS, SHF_ALLOC, headers.address, headers.offset, headers.size, 0, 0, 8, 0},
                       old_headers_name,
                       index});
  moved_.push_back(index);
}

void SectionTable::build(Layout& layout) const {
  std::vector<Section> movers;
  for (const Section& section : sections_) {
    if (section.index == undo_) continue;
    const bool moves = std::find(moved_.begin(), moved_.end(), section.index) != moved_.end();
    (moves ? movers : layout.sections).push_back(section);
  }
  for (const Section& section : movers) insert_by_address(layout.sections, section);
  if (undo_) layout.sections.push_back(sections_[*undo_]);
  layout.new_index_of.resize(sections_.size());
  for (std::uint32_t i = 0; i < layout.sections.size(); ++i) {
    layout.new_index_of[layout.sections[i].index] = i;
    layout.sections[i].index = i;
  }
  remap_links(layout);
  layout.header.e_shstrndx = static_cast<std::uint16_t>(layout.new_index_of[image_->section_name_table_index()]);
  layout.header.e_shnum = static_cast<std::uint16_t>(layout.sections.size());
  name_sections(layout);
}

void SectionTable::remap_links(Layout& layout) const {
  const auto remap = [&](std::uint32_t& index) {
    if (index < layout.new_index_of.size()) index = layout.new_index_of[index];
  };
  for (Section& section : layout.sections) {
    Elf64_Shdr& header = section.header;
    if (header.sh_type == SHT_NULL) continue;
    remap(header.sh_link);
    const bool names_section =
        header.sh_type == SHT_REL || header.sh_type == SHT_RELA || (header.sh_flags & SHF_INFO_LINK) != 0;
    if (names_section) remap(header.sh_info);
  }
}

/// The old table with the new names behind it: it may be shared with symbol names, so nothing is taken out.
void SectionTable::name_sections(Layout& layout) const {
  const auto old_names = image_->bytes_of(image_->sections()[image_->section_name_table_index()]);
  layout.section_names.assign(reinterpret_cast<const char*>(old_names.data()), old_names.size());
  for (std::size_t i = image_->sections().size(); i < sections_.size(); ++i) {
    layout.sections[layout.new_index_of[i]].header.sh_name = static_cast<std::uint32_t>(layout.section_names.size());
    layout.section_names += sections_[i].name;
    layout.section_names += '\0';
  }
}

}  // namespace sframe_gen::elf
