#include "elf/plan/tables.hpp"

#include <algorithm>
#include <utility>

#include "elf/image.hpp"
#include "elf/machine.hpp"
#include "elf/records.hpp"
#include "support/text.hpp"

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

namespace {

/// ld -n and -N align to less than a page. Tools that rewrite the file may then put the bytes at an offset that
/// agrees with the address in no more than that; behind a PT_LOAD that was added they do, and the kernel cannot map it.
void raise_to_page(Elf64_Phdr& load) {
  constexpr std::uint64_t smallest_page = 0x1000;
  if (load.p_align < smallest_page && (load.p_vaddr - load.p_offset) % smallest_page == 0) load.p_align = smallest_page;
}

}  // namespace

SegmentTable::SegmentTable(const Image& image, const std::vector<Elf64_Phdr>& segments, const OffsetMap& load_map,
                           const OffsetMap& map)
    : image_(&image), segments_(segments), load_map_(&load_map), map_(&map), moved_(segments.size(), false) {
  for (std::size_t i = 0; i < segments_.size(); ++i) segments_[i].p_offset = new_offset(i);
}

std::uint64_t SegmentTable::new_offset(std::size_t index) const {
  const Elf64_Phdr& segment = image_->segments()[index];
  // PT_GNU_STACK and its like are all zero but for their flags.
  if (segment.p_type == PT_LOAD) return (*load_map_)(segment.p_offset);
  if (segment.p_type == PT_NULL || segment.p_offset == 0) return segment.p_offset;
  const Elf64_Phdr* load = find_load(*image_, segment.p_vaddr, segment.p_memsz, segment.p_offset);
  // GNU ld gives a PT_GNU_PROPERTY to a note that is not loaded, too.
  const bool not_loaded = segment.p_memsz == 0 && segment.p_filesz != 0;
  if (load == nullptr || not_loaded) return (*map_)(segment.p_offset);
  return segment.p_offset + ((*load_map_)(load->p_offset) - load->p_offset);
}

void SegmentTable::move(std::size_t index, std::uint64_t offset, std::uint64_t address) {
  Elf64_Phdr& segment = segments_[index];
  segment.p_paddr += address - segment.p_vaddr;
  segment.p_vaddr = address;
  segment.p_offset = offset;
  moved_[index] = true;
}

void SegmentTable::add_first_load(std::uint64_t address, std::uint64_t size, std::uint64_t alignment) {
  first_load_ = {PT_LOAD, PF_R, 0, address, address, size, size, alignment};
  move_table(sizeof(Elf64_Ehdr), address + sizeof(Elf64_Ehdr));
}

void SegmentTable::take_in_header() {
  const Elf64_Phdr* const shared = load_that_shares_page_of_header(*image_);
  if (shared == nullptr) return;
  Elf64_Phdr& load = segments_[static_cast<std::size_t>(shared - image_->segments().data())];
  const std::uint64_t before = shared->p_offset;
  load.p_offset -= before;
  load.p_vaddr -= before;
  load.p_paddr -= before;
  load.p_filesz += before;
  load.p_memsz += before;
}

void SegmentTable::add_load(std::uint64_t offset, std::uint64_t address, std::uint64_t size, std::uint64_t alignment) {
  new_loads_.push_back({PT_LOAD, PF_R, offset, address, address, size, size, alignment});
}

void SegmentTable::set_section(const NewSection& section, std::uint64_t offset, std::uint64_t address,
                               std::uint64_t size) {
  if (section.segment_type)
    section_ = {*section.segment_type, PF_R, offset, address, address, size, size, section.alignment};
}

bool SegmentTable::is_last_load(std::size_t index) const {
  return segments_[index].p_type == PT_LOAD &&
         std::none_of(segments_.begin() + static_cast<std::ptrdiff_t>(index) + 1, segments_.end(),
                      [](const Elf64_Phdr& later) { return later.p_type == PT_LOAD; });
}

std::vector<Elf64_Phdr> SegmentTable::build(std::size_t count) const {
  std::vector<Elf64_Phdr> table;
  bool has_section = !section_;
  const Elf64_Phdr* first_load = first_load_ ? &*first_load_ : nullptr;
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    if (segments_[i].p_type == PT_NULL) continue;
    if (segments_[i].p_type == PT_LOAD && first_load != nullptr) table.push_back(*std::exchange(first_load, nullptr));
    if (!section_ || segments_[i].p_type != section_->p_type) {
      table.push_back(segments_[i]);
    } else if (!has_section) {
      table.push_back(*section_);
      has_section = true;
    }
    if (is_last_load(i)) table.insert(table.end(), new_loads_.begin(), new_loads_.end());
  }
  if (!has_section) table.push_back(*section_);
  table.resize(std::max(count, table.size()));
  for (Elf64_Phdr& segment : table) {
    if (segment.p_type == PT_LOAD) raise_to_page(segment);
    if (segment.p_type != PT_PHDR) continue;
    segment.p_filesz = segment.p_memsz = table.size() * sizeof(Elf64_Phdr);
    if (!table_) continue;
    segment.p_offset = table_->offset;
    segment.p_vaddr = segment.p_paddr = table_->address;
  }
  return table;
}

std::optional<std::size_t> redundant_note(const Image& image) {
  const Elf64_Phdr* const property = image.find_segment(PT_GNU_PROPERTY);
  for (std::size_t i = 0; property != nullptr && i < image.segments().size(); ++i) {
    const Elf64_Phdr& note = image.segments()[i];
    if (note.p_type == PT_NOTE && note.p_offset == property->p_offset && note.p_vaddr == property->p_vaddr &&
        note.p_filesz == property->p_filesz && note.p_memsz == property->p_memsz)
      return i;
  }
  return {};
}

namespace {

/// Section contents that are not loaded need no page, but their own alignment.
constexpr std::uint64_t unloaded_alignment = 64;

/// lld rounds PT_GNU_RELRO up to a page, beyond its PT_LOAD: what lies there changes its protection.
bool holds_addresses(const Elf64_Phdr& segment) {
  return segment.p_type == PT_LOAD || (segment.p_type == PT_GNU_RELRO && segment.p_memsz != 0);
}

}  // namespace

bool is_wasteful(std::uint64_t bytes, std::uint64_t needed) {
  return bytes >= std::uint64_t{1} << 20 && bytes / 2 > needed;
}

LoadGrowth::LoadGrowth(const Image& image, std::string_view replaced)
    : image_(&image), segments_(image.segments()), replaced_(replaced), page_(layout_page(image)) {
  kept_size_.reserve(segments_.size());
  for (const Elf64_Phdr& segment : segments_) kept_size_.push_back(segment.p_filesz);
}

std::uint64_t LoadGrowth::kept_end(std::size_t load) const {
  return segments_[load].p_offset + kept_size_[load];
}

void LoadGrowth::shrink(std::size_t load, std::uint64_t address) {
  Elf64_Phdr& segment = segments_[load];
  segment.p_filesz = segment.p_memsz = kept_size_[load] = address - segment.p_vaddr;
}

std::optional<std::uint64_t> LoadGrowth::take(std::size_t load, std::uint64_t size, std::uint64_t alignment) {
  Elf64_Phdr& segment = segments_[load];
  const bool read_only = segment.p_type == PT_LOAD && (segment.p_flags & (PF_R | PF_W)) == PF_R;
  if (!read_only || segment.p_filesz != segment.p_memsz || alignment > page_) return {};
  const std::uint64_t address = align_up(segment.p_vaddr + segment.p_memsz, alignment);
  const std::uint64_t limit = address_limit(load);
  if (address > limit || size > limit - address) return {};
  segment.p_filesz = segment.p_memsz = address + size - segment.p_vaddr;
  return address;
}

std::uint64_t LoadGrowth::address_limit(std::size_t load) const {
  const std::uint64_t end = segments_[load].p_vaddr + segments_[load].p_memsz;
  std::uint64_t limit = largest_number;
  for (const Elf64_Phdr& other : segments_) {
    if (holds_addresses(other) && other.p_vaddr > segments_[load].p_vaddr)
      limit = std::min(limit, align_down(other.p_vaddr, page_));
  }
  // An allocated section that no PT_LOAD covers keeps its addresses all the same; the old section does not.
  for (const Section& section : image_->sections()) {
    const bool occupies = (section.header.sh_flags & SHF_ALLOC) != 0 && (section.header.sh_flags & SHF_TLS) == 0 &&
                          section.header.sh_size != 0 && section.name != replaced_;
    if (occupies && section.header.sh_addr >= end) limit = std::min(limit, section.header.sh_addr);
  }
  return limit;
}

std::uint64_t LoadGrowth::insertion_unit(std::uint64_t at) const {
  const bool loads_follow = std::any_of(segments_.begin(), segments_.end(), [&](const Elf64_Phdr& segment) {
    return segment.p_type == PT_LOAD && segment.p_offset >= at;
  });
  return loads_follow ? page_ : unloaded_alignment;
}

std::optional<std::string> LoadGrowth::make_file_room(const FileSpace& space, OffsetMap& map, bool& wastes) const {
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    const std::uint64_t needed = segments_[i].p_filesz - std::min(kept_size_[i], segments_[i].p_filesz);
    if (needed == 0) continue;
    const std::uint64_t end = kept_end(i);
    if (const Claim* across = space.claim_across(end))
      return owner_of(*across) + " reaches over the end of the PT_LOAD at " + hex(segments_[i].p_vaddr);
    const Claim* next = space.next_claim(end);
    std::uint64_t free = next == nullptr ? needed : std::min(needed, next->range.begin - end);
    // Unknown bytes stay in front of what follows. What a PT_LOAD gave up is free in any case.
    const std::uint64_t given_up = image_->segments()[i].p_offset + image_->segments()[i].p_filesz - end;
    if (!space.is_zero({end, end + free})) free = std::min(needed, given_up);
    if (free == needed) continue;
    const std::uint64_t at = end + free;
    const std::uint64_t bytes = align_up(needed - free, insertion_unit(at));
    wastes = wastes || is_wasteful(bytes, needed);
    map.insert({at, bytes});
  }
  return {};
}

std::uint64_t LoadGrowth::address_above() const {
  std::uint64_t above = 0;
  for (const Elf64_Phdr& segment : segments_) {
    if (holds_addresses(segment)) above = std::max(above, align_up(segment.p_vaddr + segment.p_memsz, page_));
  }
  return above;
}

}  // namespace sframe_gen::elf
