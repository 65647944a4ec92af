#include <algorithm>

#include "elf/load_lookup.hpp"
#include "elf/machine.hpp"
#include "elf/plan/placement.hpp"
#include "elf/plan/section_table.hpp"
#include "elf/plan/segment_table.hpp"

namespace sframe_gen::elf {

namespace {

void lay_out_moves(const Task& task, const Placement& placement, Layout& layout) {
  layout.dropped = placement.space.released();
  layout.table_plan = table_plan_of(placement);
  layout.build_id_left_first_page = moves_build_id(task.image, placement);
  const auto dynamic = read_dynamic(task.image);
  for (const Placed& placed : placement.groups) {
    layout.moved.push_back({placed.group.range, placed.offset});
    for (const std::uint32_t index : placed.group.sections) {
      const Section& section = task.image.sections()[index];
      layout.evicted.push_back(section.name);
      if (placed.group.plan != TablePlan::DynamicTables) continue;
      const auto tags = tags_of_type(section.header.sh_type);
      for (const DynamicEntry& entry : dynamic) {
        if (entry.value == section.header.sh_addr && std::find(tags.begin(), tags.end(), entry.tag) != tags.end())
          layout.dynamic_patches.push_back({placement.load_map(entry.value_offset), placed.address});
      }
    }
  }
}

void lay_out_segments(const Task& task, const Placement& placement, Layout& layout) {
  SegmentTable table(task.image, placement.loads.segments(), placement.load_map, placement.map);
  for (const Placed& placed : placement.groups) {
    for (const std::size_t index : placed.group.segments) {
      const std::uint64_t within = task.image.segments()[index].p_offset - placed.group.range.begin;
      table.move(index, placed.offset + within, placed.address + within);
    }
  }
  if (placement.plan.table == TablePlan::Below) {
    table.take_in_header();
    table.add_first_load(placement.head.address, placement.head.size, load_alignment(task.image));
  }
  if (placement.plan.section == SectionPlan::Tail)
    table.add_load(placement.tail.offset, placement.tail.address, placement.tail.size, load_alignment(task.image));
  if (placement.plan.table == TablePlan::Moved) {
    layout.header.e_phoff = placement.tail.offset + placement.tail.table;
    table.move_table(layout.header.e_phoff, placement.tail.address + placement.tail.table);
  }
  table.set_section(task.section, placement.section.offset, placement.section.address, task.section_size);
  if (placement.dropped_note) table.drop(*placement.dropped_note);
  layout.segments = table.build(placement.segment_count);
  layout.header.e_phnum = static_cast<std::uint16_t>(layout.segments.size());
}

void lay_out_old_headers(const Task& task, const Placement& placement, Layout& layout) {
  if (placement.plan.table != TablePlan::Below) return;
  OldHeaders old;
  old.header = task.image.header();
  old.offset = placement.head.pages;
  if (const auto load = header_load(task.image)) {
    const Elf64_Phdr& segment = task.image.segments()[*load];
    old.address = segment.p_vaddr;
    old.size = std::min(segment.p_filesz, old_table(task.image).end);
  } else if (const Elf64_Phdr* const shared = load_that_shares_page_of_header(task.image)) {
    old.address = shared->p_vaddr - shared->p_offset;
    old.size = old_table(task.image).end;
  }
  // From the old header to the new table, modulo 2^64.
  if (old.size != 0) old.header.e_phoff = placement.head.address + sizeof(Elf64_Ehdr) - old.address;
  old.header.e_phnum = layout.header.e_phnum;
  layout.old_headers = old;
}

void lay_out_sections(const Task& task, const Placement& placement, Layout& layout) {
  if (!task.image.has_section_headers()) return;
  SectionTable table(task.image, placement.load_map, placement.map);
  for (const Placed& placed : placement.groups) {
    for (const std::uint32_t index : placed.group.sections) {
      const std::uint64_t within = task.image.sections()[index].header.sh_offset - placed.group.range.begin;
      table.move(index, placed.offset + within, placed.address + within);
    }
  }
  table.set_section(task.section, task.existing.section, placement.section.offset, placement.section.address,
                    task.section_size);
  if (task.section.keeps_way_back) table.set_undo(task.section, task.existing.undo_section);
  if (layout.old_headers && layout.old_headers->size != 0) table.cover_old_headers(*layout.old_headers);
  table.build(layout);
}

/// What e_shoff says may be stale; the record must not come to stand where it points.
void lay_out_no_sections(const Task& task, std::uint64_t end, Layout& layout) {
  layout.header.e_shoff = 0;
  layout.header.e_shnum = 0;
  layout.header.e_shstrndx = SHN_UNDEF;
  layout.file_size = end;
  layout.growth = static_cast<std::int64_t>(end) - static_cast<std::int64_t>(task.image.file_bytes().size());
}

void lay_out_end_of_file(const Task& task, const Placement& placement, Layout& layout) {
  const std::uint64_t old_size = task.image.file_bytes().size();
  layout.copied_size = placement.space.end();
  std::uint64_t end = placement.map(layout.copied_size - 1) + 1;
  for (const Elf64_Phdr& segment : layout.segments) {
    if (segment.p_type == PT_LOAD) end = std::max<std::uint64_t>(end, segment.p_offset + segment.p_filesz);
  }
  if (!task.image.has_section_headers()) return lay_out_no_sections(task, end, layout);
  Elf64_Shdr& names = layout.sections[layout.header.e_shstrndx].header;
  names.sh_offset = end;
  names.sh_size = layout.section_names.size();
  layout.header.e_shoff = align_up(end + layout.section_names.size(), 8);
  layout.file_size = layout.header.e_shoff + layout.sections.size() * sizeof(Elf64_Shdr);
  // The record stands behind the table: nothing but its own header depends on its size.
  if (task.section.keeps_way_back) layout.sections.back().header.sh_offset = layout.file_size;
  layout.growth = static_cast<std::int64_t>(layout.file_size) - static_cast<std::int64_t>(old_size);
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
  lay_out_old_headers(task, placement, layout);
  lay_out_sections(task, placement, layout);
  lay_out_end_of_file(task, placement, layout);
  return layout;
}

}  // namespace sframe_gen::elf
