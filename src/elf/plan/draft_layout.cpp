#include <algorithm>

#include "elf/machine.hpp"
#include "elf/plan/draft.hpp"
#include "elf/plan/section_table.hpp"
#include "elf/plan/segment_table.hpp"

namespace sframe_gen::elf {

Layout Draft::layout() const {
  Layout layout;
  layout.section = new_section_;
  layout.section_address = section_.address;
  layout.section_size = section_size_;
  layout.section_offset = section_.offset;
  layout.section_plan = attempt_.section;
  layout.offset_map = map_;
  layout.header = image_->header();
  lay_out_moves(layout);
  lay_out_segments(layout);
  lay_out_old_headers(layout);
  lay_out_sections(layout);
  lay_out_end_of_file(layout);
  return layout;
}

void Draft::lay_out_moves(Layout& layout) const {
  layout.dropped = space_.released();
  layout.table_plan = table_plan();
  layout.build_id_left_first_page = moves_build_id();
  const auto dynamic = read_dynamic(*image_);
  for (const Placed& placed : groups_) {
    layout.moved.push_back({placed.group.range, placed.offset});
    for (const std::uint32_t index : placed.group.sections) {
      const Section& section = image_->sections()[index];
      layout.evicted.push_back(section.name);
      if (placed.group.plan != TablePlan::DynamicTables) continue;
      const auto tags = tags_of_type(section.header.sh_type);
      for (const DynamicEntry& entry : dynamic) {
        if (entry.value == section.header.sh_addr && std::find(tags.begin(), tags.end(), entry.tag) != tags.end())
          layout.dynamic_patches.push_back({load_map_(entry.value_offset), placed.address});
      }
    }
  }
}

void Draft::lay_out_segments(Layout& layout) const {
  SegmentTable table(*image_, loads_.segments(), load_map_, map_);
  for (const Placed& placed : groups_) {
    for (const std::size_t index : placed.group.segments) {
      const std::uint64_t within = image_->segments()[index].p_offset - placed.group.range.begin;
      table.move(index, placed.offset + within, placed.address + within);
    }
  }
  if (attempt_.table == TablePlan::Below) table.add_first_load(head_.address, head_.size, load_alignment(*image_));
  if (attempt_.section == SectionPlan::Tail)
    table.add_load(tail_.offset, tail_.address, tail_.size, load_alignment(*image_));
  table.set_section(new_section_, section_.offset, section_.address, section_size_);
  if (dropped_note_) table.drop(*dropped_note_);
  layout.segments = table.build(segment_count());
  layout.header.e_phnum = static_cast<std::uint16_t>(layout.segments.size());
}

void Draft::lay_out_sections(Layout& layout) const {
  if (!image_->has_section_headers()) return;
  SectionTable table(*image_, load_map_, map_);
  for (const Placed& placed : groups_) {
    for (const std::uint32_t index : placed.group.sections) {
      const std::uint64_t within = image_->sections()[index].header.sh_offset - placed.group.range.begin;
      table.move(index, placed.offset + within, placed.address + within);
    }
  }
  table.set_section(new_section_, existing_->section, section_.offset, section_.address, section_size_);
  if (new_section_.keeps_way_back) table.set_undo(new_section_, existing_->undo_section);
  if (layout.old_headers && layout.old_headers->size != 0) table.cover_old_headers(*layout.old_headers);
  table.build(layout);
}

void Draft::lay_out_end_of_file(Layout& layout) const {
  const std::uint64_t old_size = image_->file_bytes().size();
  layout.copied_size = space_.end();
  std::uint64_t end = map_(layout.copied_size - 1) + 1;
  for (const Elf64_Phdr& segment : layout.segments) {
    if (segment.p_type == PT_LOAD) end = std::max<std::uint64_t>(end, segment.p_offset + segment.p_filesz);
  }
  if (!image_->has_section_headers()) return lay_out_no_sections(layout, end);
  Elf64_Shdr& names = layout.sections[layout.header.e_shstrndx].header;
  names.sh_offset = end;
  names.sh_size = layout.section_names.size();
  layout.header.e_shoff = align_up(end + layout.section_names.size(), 8);
  layout.file_size = layout.header.e_shoff + layout.sections.size() * sizeof(Elf64_Shdr);
  // The record stands behind the table: nothing but its own header depends on its size.
  if (new_section_.keeps_way_back) layout.sections.back().header.sh_offset = layout.file_size;
  layout.growth = static_cast<std::int64_t>(layout.file_size) - static_cast<std::int64_t>(old_size);
}

/// What e_shoff says may be stale; the record must not come to stand where it points.
void Draft::lay_out_no_sections(Layout& layout, std::uint64_t end) const {
  layout.header.e_shoff = 0;
  layout.header.e_shnum = 0;
  layout.header.e_shstrndx = SHN_UNDEF;
  layout.file_size = end;
  layout.growth = static_cast<std::int64_t>(end) - static_cast<std::int64_t>(image_->file_bytes().size());
}

}  // namespace sframe_gen::elf
