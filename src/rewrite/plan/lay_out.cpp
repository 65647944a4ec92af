#include "rewrite/plan/lay_out.hpp"

#include <algorithm>
#include <string_view>

#include "elf/dynamic_table.hpp"
#include "elf/image.hpp"
#include "elf/machine.hpp"
#include "elf/preconditions.hpp"
#include "rewrite/plan/below.hpp"

namespace sframe_gen::rewrite {

namespace {

void lay_out_moves(const Task& task, const Placement& placement, Layout& layout) {
  layout.dropped = placement.space.released();
  layout.table_plan = table_plan_of(placement);
  layout.build_id_left_first_page = moves_build_id(task, placement);
  const auto dynamic = elf::read_dynamic(task.image);
  for (const Placed& placed : placement.groups) {
    layout.moved.push_back({placed.group.range, placed.offset});
    for (const std::uint64_t offset : placed.group.relative_numbers) {
      const auto number = load<std::uint64_t>(task.image.file_bytes().subspan(offset), task.image.endian());
      layout.changed_numbers.push_back(
          {placed.offset + (offset - placed.group.range.begin), number - (placed.address - placed.group.address)});
    }
    for (const NoteFunction& function : placed.group.functions) {
      const std::uint64_t at = function.distance_offset;
      const auto distance = load<std::uint32_t>(task.image.file_bytes().subspan(at), task.image.endian());
      layout.changed_numbers.push_back(
          {placement.load_map(at), distance + (placed.address - placed.group.address), sizeof distance});
    }
    for (const std::uint32_t index : placed.group.sections) {
      const elf::Section& section = task.image.sections()[index];
      layout.moved_sections.push_back(section.name);
      if (placed.group.plan != TablePlan::DynamicTables) continue;
      const auto tags = elf::tags_of_type(section.header.sh_type);
      for (const elf::DynamicEntry& entry : dynamic) {
        if (entry.value == section.header.sh_addr && std::find(tags.begin(), tags.end(), entry.tag) != tags.end())
          layout.changed_numbers.push_back({placement.load_map(entry.value_offset), placed.address});
      }
    }
  }
}

bool is_load(const Elf64_Phdr& segment) {
  return segment.p_type == PT_LOAD;
}

/// Returns where bytes at `offset`, which `load` holds, come to stand.
std::uint64_t moved_with(const Elf64_Phdr& load, std::uint64_t offset, const Placement& placement) {
  return offset + (placement.load_map(load.p_offset) - load.p_offset);
}

std::uint64_t new_offset(const Elf64_Phdr& segment, const elf::Image& image, const Placement& placement) {
  // PT_GNU_STACK and its like are all zero but for their flags.
  if (is_load(segment)) return placement.load_map(segment.p_offset);
  if (segment.p_type == PT_NULL || segment.p_offset == 0) return segment.p_offset;
  const Elf64_Phdr* const load = elf::find_load(image, segment.p_vaddr, segment.p_memsz, segment.p_offset);
  // GNU ld gives a PT_GNU_PROPERTY to a note that is not loaded, too.
  const bool not_loaded = segment.p_memsz == 0 && segment.p_filesz != 0;
  return load == nullptr || not_loaded ? placement.map(segment.p_offset)
                                       : moved_with(*load, segment.p_offset, placement);
}

/// Returns the program headers of the input at their new places.
std::vector<Elf64_Phdr> kept_segments(const elf::Image& image, const Placement& placement) {
  std::vector<Elf64_Phdr> segments = placement.loads.segments();
  for (std::size_t i = 0; i < segments.size(); ++i)
    segments[i].p_offset = new_offset(image.segments()[i], image, placement);
  for (const Placed& placed : placement.groups) {
    for (const std::size_t index : placed.group.segments) {
      Elf64_Phdr& segment = segments[index];
      const std::uint64_t within = image.segments()[index].p_offset - placed.group.range.begin;
      segment.p_paddr += placed.address + within - segment.p_vaddr;
      segment.p_vaddr = placed.address + within;
      segment.p_offset = placed.offset + within;
    }
  }
  if (placement.dropped_note) segments[*placement.dropped_note].p_type = PT_NULL;
  std::erase_if(segments, [](const Elf64_Phdr& segment) { return segment.p_type == PT_NULL; });
  return segments;
}

/// ld -n and -N align to less than a page. Tools that rewrite the file may then put the bytes at an offset that
/// agrees with the address in no more than that; after a PT_LOAD that was added they do, and the kernel cannot map it.
void raise_to_page(Elf64_Phdr& load) {
  constexpr std::uint64_t smallest_page = 0x1000;
  if (load.p_align < smallest_page && (load.p_vaddr - load.p_offset) % smallest_page == 0) load.p_align = smallest_page;
}

/// The program headers are in the order of the input. A new PT_LOAD follows the last one or precedes the first, since
/// they have to ascend, and the section's own header takes the place of an old one or the last place.
void lay_out_segments(const Task& task, const Placement& placement, Layout& layout) {
  std::vector<Elf64_Phdr>& segments = layout.segments = kept_segments(task.image, placement);
  const std::uint64_t alignment = elf::load_alignment(task.image);
  if (placement.plan.table == TablePlan::Below) lay_out_pages_below(task, placement, layout);
  const Tail& tail = placement.tail;
  if (placement.plan.section == SectionPlan::Tail)
    segments.insert(std::find_if(segments.rbegin(), segments.rend(), is_load).base(),
                    {PT_LOAD, PF_R, tail.offset, tail.address, tail.address, tail.size, tail.size, alignment});
  if (task.section.segment_type) {
    const auto old = std::ranges::find(segments, *task.section.segment_type, &Elf64_Phdr::p_type);
    const auto place = old - segments.begin();
    std::erase_if(segments, [&](const Elf64_Phdr& other) { return other.p_type == *task.section.segment_type; });
    segments.insert(segments.begin() + place,
                    {*task.section.segment_type, PF_R, placement.section.offset, placement.section.address,
                     placement.section.address, task.section_size, task.section_size, task.section.alignment});
  }
  // Unused ones are PT_NULL.
  segments.resize(std::max<std::size_t>(placement.segment_count, segments.size()));
  layout.header.e_phnum = static_cast<std::uint16_t>(segments.size());
  if (placement.plan.table == TablePlan::Moved) layout.header.e_phoff = tail.offset + tail.table;
  for (Elf64_Phdr& segment : segments) {
    if (is_load(segment)) raise_to_page(segment);
    if (segment.p_type != PT_PHDR) continue;
    segment.p_filesz = segment.p_memsz = segments.size() * sizeof(Elf64_Phdr);
    if (placement.plan.table != TablePlan::Moved) continue;
    segment.p_offset = layout.header.e_phoff;
    segment.p_vaddr = segment.p_paddr = tail.address + tail.table;
  }
}

bool is_allocated(const elf::Section& section) {
  return (section.header.sh_flags & SHF_ALLOC) != 0;
}

/// .tbss has an address, but the sections after it have the same.
bool is_thread_local_space(const elf::Section& section) {
  return (section.header.sh_flags & SHF_TLS) != 0 && section.header.sh_type == SHT_NOBITS;
}

std::uint64_t new_offset(const elf::Section& section, const elf::Image& image, const Placement& placement) {
  const Elf64_Shdr& header = section.header;
  if (header.sh_type == SHT_NULL) return header.sh_offset;
  const Elf64_Phdr* load =
      is_allocated(section) ? elf::find_load(image, header.sh_addr, header.sh_size, header.sh_offset) : nullptr;
  // A .tbss may lie outside every PT_LOAD, but it follows .tdata.
  if (load == nullptr && is_allocated(section)) load = image.find_segment(PT_TLS);
  // mold gives sections without bytes no place in the file.
  const bool has_place = header.sh_offset != 0 && (load == nullptr || header.sh_offset >= load->p_offset);
  if (header.sh_type == SHT_NOBITS && !has_place) return header.sh_offset;
  if (load == nullptr || (load->p_type == PT_TLS && !is_thread_local_space(section)))
    return placement.map(header.sh_offset);
  return moved_with(*load, header.sh_offset, placement);
}

/// The sections of the output by the indices that they have in the input; new ones follow.
struct Sections {
  std::vector<elf::Section> all;
  std::vector<std::uint32_t> moved;   ///< indices of those whose address puts them elsewhere in the table
  std::optional<std::uint32_t> undo;  ///< index of the record that gives the input back

  /// Replaces the section at `old`, whose symbols the new one inherits, or adds one. Returns its index.
  std::uint32_t put(std::optional<std::uint32_t> old, std::string_view name, Elf64_Shdr header) {
    const std::uint32_t index = old.value_or(static_cast<std::uint32_t>(all.size()));
    if (!old) all.push_back({{}, std::string(name), index});
    header.sh_name = all[index].header.sh_name;
    all[index].header = header;
    return index;
  }
};

Sections sections_of(const Task& task, const Placement& placement) {
  Sections sections{task.image.sections(), {}, {}};
  for (elf::Section& section : sections.all) section.header.sh_offset = new_offset(section, task.image, placement);
  for (const Placed& placed : placement.groups) {
    for (const std::uint32_t index : placed.group.sections) {
      const std::uint64_t within = task.image.sections()[index].header.sh_offset - placed.group.range.begin;
      sections.all[index].header.sh_offset = placed.offset + within;
      sections.all[index].header.sh_addr = placed.address + within;
      sections.moved.push_back(index);
    }
  }
  const elf::NewSection& added = task.section;
  sections.moved.push_back(sections.put(task.existing.section, added.name,
                                        {0, added.type, SHF_ALLOC, placement.section.address, placement.section.offset,
                                         task.section_size, 0, 0, added.alignment, 0}));
  // Its size comes later.
  if (added.keeps_undo_record)
    sections.undo =
        sections.put(task.existing.undo_section, added.undo_name, {0, SHT_PROGBITS, 0, 0, 0, 0, 0, 0, 1, 0});
  if (const auto old_headers = old_headers_section(task, placement))
    sections.moved.push_back(sections.put({}, elf::old_headers_name, *old_headers));
  return sections;
}

void insert_by_address(std::vector<elf::Section>& sections, const elf::Section& section) {
  auto place = std::find_if(sections.begin(), sections.end(), [&](const elf::Section& other) {
    return is_allocated(other) && !is_thread_local_space(other) && other.header.sh_addr > section.header.sh_addr;
  });
  if (place == sections.end()) {
    const auto last = std::find_if(sections.rbegin(), sections.rend(), is_allocated);
    place = last == sections.rend() ? sections.begin() + 1 : last.base();
  }
  sections.insert(place, section);
}

/// Sections keep their order. What moved and the new section stand where their address puts them, since GNU strip and
/// objcopy lay a file out in table order, and after no unallocated section, which dwz refuses. The record that gives
/// the input back is the last.
void lay_out_sections(const Task& task, const Placement& placement, Layout& layout) {
  const Sections sections = sections_of(task, placement);
  std::vector<elf::Section> movers;
  for (const elf::Section& section : sections.all) {
    if (section.index == sections.undo) continue;
    const bool moves = std::ranges::find(sections.moved, section.index) != sections.moved.end();
    (moves ? movers : layout.sections).push_back(section);
  }
  for (const elf::Section& section : movers) insert_by_address(layout.sections, section);
  if (sections.undo) layout.sections.push_back(sections.all[*sections.undo]);
  layout.new_index_of.resize(sections.all.size());
  for (std::uint32_t i = 0; i < layout.sections.size(); ++i) {
    layout.new_index_of[layout.sections[i].index] = i;
    layout.sections[i].index = i;
  }
  remap_links(layout);
  // The old names stay, with the new ones after them: symbols may share them, so nothing is taken out.
  const elf::Image& image = task.image;
  const auto old_names = image.bytes_of(image.sections()[image.section_name_table_index()]);
  layout.section_names.assign(reinterpret_cast<const char*>(old_names.data()), old_names.size());
  for (std::size_t i = image.sections().size(); i < sections.all.size(); ++i) {
    layout.sections[layout.new_index_of[i]].header.sh_name = static_cast<std::uint32_t>(layout.section_names.size());
    layout.section_names += sections.all[i].name;
    layout.section_names += '\0';
  }
  layout.header.e_shstrndx = static_cast<std::uint16_t>(layout.new_index_of[image.section_name_table_index()]);
  layout.header.e_shnum = static_cast<std::uint16_t>(layout.sections.size());
}

/// End of the contents of the output, before section names and headers.
std::uint64_t end_of_contents(const Placement& placement, const Layout& layout) {
  std::uint64_t end = placement.map(layout.copied_size - 1) + 1;
  for (const Elf64_Phdr& segment : layout.segments) {
    // That of .bss alone begins in the file or near its end; where it claims to be elsewhere, no byte has to follow it.
    const bool is_far =
        segment.p_filesz == 0 && segment.p_offset > end && segment.p_offset - end > elf::most_undescribed;
    if (segment.p_type == PT_LOAD && !is_far) end = std::max<std::uint64_t>(end, segment.p_offset + segment.p_filesz);
  }
  return end;
}

/// Section names and headers follow the contents.
void lay_out_tables_at_end(const Task& task, Layout& layout) {
  Elf64_Shdr& names = layout.sections[layout.header.e_shstrndx].header;
  names.sh_offset = layout.file_size;
  names.sh_size = layout.section_names.size();
  layout.header.e_shoff = elf::align_up(layout.file_size + layout.section_names.size(), 8);
  layout.file_size = layout.header.e_shoff + layout.sections.size() * sizeof(Elf64_Shdr);
  // The record follows the table: nothing but its own header depends on its size.
  if (task.section.keeps_undo_record) layout.sections.back().header.sh_offset = layout.file_size;
}

}  // namespace

Layout lay_out(const Task& task, const Placement& placement) {
  Layout layout;
  layout.section = task.section;
  layout.section_address = placement.section.address;
  layout.section_size = task.section_size;
  layout.section_offset = placement.section.offset;
  layout.section_plan = placement.plan.section;
  layout.offset_map = placement.map;
  layout.header = task.image.header();
  lay_out_moves(task, placement, layout);
  lay_out_segments(task, placement, layout);
  layout.copied_size = placement.space.end();
  layout.file_size = end_of_contents(placement, layout);
  if (task.image.has_section_headers()) {
    lay_out_sections(task, placement, layout);
    lay_out_tables_at_end(task, layout);
  } else {
    // e_shoff may be stale; the record must not come to stand where it points.
    layout.header.e_shoff = layout.header.e_shnum = 0;
    layout.header.e_shstrndx = SHN_UNDEF;
  }
  const std::uint64_t old_size = task.image.file_bytes().size();
  layout.growth = static_cast<std::int64_t>(layout.file_size) - static_cast<std::int64_t>(old_size);
  return layout;
}

}  // namespace sframe_gen::rewrite
