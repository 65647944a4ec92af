#include "elf/plan/draft.hpp"

#include <algorithm>

#include "elf/load_lookup.hpp"
#include "elf/plan/segment_table.hpp"
#include "elf/type_names.hpp"
#include "support/text.hpp"

namespace sframe_gen::elf {

Draft::Draft(const Image& image, const Movability& movability, const ExistingSframe& existing, const Attempt& attempt,
             const NewSection& section, std::uint64_t section_size)
    : image_(&image),
      movability_(&movability),
      existing_(&existing),
      attempt_(attempt),
      new_section_(section),
      section_size_(section_size),
      space_(image),
      loads_(image, section.name) {
  if (attempt.drops_note) dropped_note_ = redundant_note(image);
  // The old headers stay in memory where others come below them.
  if (attempt.table != TablePlan::Below) {
    space_.release({0, sizeof(Elf64_Ehdr)});
    space_.release(old_table());
  }
  space_.release(existing.bytes);
  if (section.keeps_way_back) space_.release(existing.undo_bytes);
  space_.release(image.section_table());
  if (!image.has_section_headers()) return;
  const Elf64_Shdr& names = image.sections()[image.section_name_table_index()].header;
  space_.release({names.sh_offset, names.sh_offset + names.sh_size});
}

std::optional<Obstacle> Draft::work_out() {
  if (attempt_.section == SectionPlan::Gap && existing_->is_last && existing_->load == attempt_.load)
    loads_.shrink(attempt_.load, image_->sections()[*existing_->section].header.sh_addr);
  if (attempt_.table == TablePlan::Below) {
    if (auto obstacle = put_pages_below()) return obstacle;
  } else {
    if (auto obstacle = clear_table()) return obstacle;
    if (auto obstacle = place_groups()) return obstacle;
  }
  // Last in its PT_LOAD: a later run can then extend it.
  if (auto obstacle = place_section()) return obstacle;
  if (auto obstacle = make_file_room()) return obstacle;
  // Then a cheaper attempt is the same.
  if (table_plan() != attempt_.table) return Obstacle{false, std::string("it would be ") + short_name(table_plan())};
  return {};
}

std::uint64_t Draft::segment_count() const {
  std::uint64_t kept = 0;
  std::uint64_t unused = 0;
  for (const Elf64_Phdr& segment : image_->segments()) {
    unused += segment.p_type == PT_NULL ? 1 : 0;
    kept += segment.p_type != PT_NULL && segment.p_type != new_section_.segment_type ? 1U : 0U;
  }
  if (dropped_note_) --kept;
  const std::uint64_t used = kept + (new_section_.segment_type ? 1U : 0U) +
                             (attempt_.section == SectionPlan::Tail ? 1U : 0U) +
                             (attempt_.table == TablePlan::Below ? 1U : 0U);
  return std::max<std::uint64_t>(used, std::min<std::uint64_t>(kept + unused, image_->segments().size()));
}

FileRange Draft::old_table() const {
  const std::uint64_t begin = image_->header().e_phoff;
  return {begin, begin + image_->segments().size() * sizeof(Elf64_Phdr)};
}

std::uint64_t Draft::table_end() const {
  return image_->header().e_phoff + segment_count() * sizeof(Elf64_Phdr);
}

/// What had to move, which may be less than the attempt allows.
TablePlan Draft::table_plan() const {
  if (attempt_.table == TablePlan::Below) return attempt_.table;
  TablePlan plan = TablePlan::Free;
  for (const Placed& placed : groups_) plan = std::max(plan, std::max(placed.group.plan, TablePlan::Notes));
  return plan;
}

std::optional<std::size_t> Draft::header_load() const {
  return find_load_at_offset(*image_, image_->header().e_phoff);
}

std::optional<Obstacle> Draft::clear_table() {
  if (segment_count() <= image_->segments().size()) return {};
  if (segment_count() * sizeof(Elf64_Phdr) > 4096) return Obstacle{true, "the table would exceed one page"};
  const auto load = header_load();
  if (!load) return Obstacle{true, "no PT_LOAD holds the headers"};
  const std::uint64_t held = image_->segments()[*load].p_offset + image_->segments()[*load].p_filesz;
  // Free Pascal's first PT_LOAD holds nothing but the headers and a note.
  if (held < table_end() && !loads_.take(*load, table_end() - held, 1))
    return Obstacle{true, "the PT_LOAD of the headers cannot grow"};
  const Claim* in_the_way = nullptr;
  while ((in_the_way = space_.next_claim(old_table().begin)) != nullptr && in_the_way->range.begin < table_end()) {
    const Claim claim = *in_the_way;
    const auto found = movability_->group_at(claim.range.begin);
    if (const auto* immovable = std::get_if<Immovable>(&found)) return Obstacle{true, immovable->why};
    const auto& group = std::get<Group>(found);
    if (claim.is_load || group.plan > attempt_.table || !group.range.contains(claim.range))
      return Obstacle{true, claim.owner + " is in the way"};
    space_.release(group.range);
    groups_.push_back({group, false, false, *load, 0, 0});
  }
  if (!space_.is_filler({old_table().begin, table_end()}))
    return Obstacle{true, "unknown bytes stand behind the table"};
  std::uint64_t free_end = in_the_way == nullptr ? UINT64_MAX : in_the_way->range.begin;
  if (attempt_.section == SectionPlan::Replace && existing_->load) {
    // Its old bytes are free, but it comes back to the same place. lld puts it near the headers.
    const std::uint64_t section = image_->sections()[*existing_->section].header.sh_offset;
    const bool behind = section >= old_table().begin;
    if (behind && section < table_end()) return Obstacle{true, "the section that is there is in the way"};
    if (behind) free_end = std::min(free_end, section);
  }
  hole_ = {table_end(), std::min(free_end, held)};
  if (hole_.empty() || !space_.is_zero(hole_)) hole_ = {};
  return {};
}

std::optional<Obstacle> Draft::place_groups() {
  // Linux before 6.12 looks for the build-id in the first page only: it has the first choice.
  std::stable_sort(groups_.begin(), groups_.end(),
                   [](const Placed& a, const Placed& b) { return a.group.has_build_id > b.group.has_build_id; });
  for (Placed& placed : groups_) {
    if (auto why = place_group(placed)) return Obstacle{true, *why};
  }
  return {};
}

std::optional<std::string> Draft::place_group(Placed& placed) {
  const std::uint64_t size = placed.group.range.end - placed.group.range.begin;
  const std::uint64_t base = image_->segments()[placed.load].p_vaddr - image_->segments()[placed.load].p_offset;
  const std::uint64_t in_hole = align_up(base + hole_.begin, placed.group.alignment) - base;
  if (in_hole <= hole_.end && size <= hole_.end - in_hole) {
    placed.address = base + in_hole;
    hole_.begin = in_hole + size;
    return {};
  }
  if (const auto address = loads_.take(placed.load, size, placed.group.alignment)) {
    placed.address = *address;
    return {};
  }
  return place_in_tail(placed);
}

std::optional<std::string> Draft::place_in_tail(Placed& placed) {
  const std::uint64_t size = placed.group.range.end - placed.group.range.begin;
  if (attempt_.section != SectionPlan::Tail || placed.group.alignment > loads_.page()) {
    return "there is no gap of " + hex(size) + " bytes for " +
           describe(image_->sections()[placed.group.sections.front()]);
  }
  placed.in_tail = true;
  // LLVM's strip and objcopy take the first of two segments that begin at one file offset for the outer one, and
  // PT_INTERP stands in front of the PT_LOADs, as do mold's PT_NOTEs. So the PT_LOAD has to begin before them.
  if (tail_.size == 0 && !placed.group.segments.empty()) tail_.size = tail_.alignment;
  placed.address = align_up(tail_.size, placed.group.alignment);
  tail_.size = placed.address + size;
  tail_.alignment = std::max(tail_.alignment, placed.group.alignment);
  return {};
}

std::optional<Obstacle> Draft::place_section() {
  switch (attempt_.section) {
    case SectionPlan::Replace: {
      if (!existing_->load || section_size_ > existing_->room)
        return Obstacle{false, "the " + std::string(new_section_.name) + " that is there has no room"};
      section_.load = *existing_->load;
      section_.address = image_->sections()[*existing_->section].header.sh_addr;
      return {};
    }
    case SectionPlan::Gap: {
      const auto address = loads_.take(attempt_.load, section_size_, new_section_.alignment);
      if (!address) {
        return Obstacle{false, "the gap behind the PT_LOAD at " + hex(image_->segments()[attempt_.load].p_vaddr) +
                                   " is smaller than " + hex(section_size_) + " bytes"};
      }
      section_.load = attempt_.load;
      section_.address = *address;
      return {};
    }
    case SectionPlan::Tail:
      section_.in_tail = true;
      section_.address = align_up(tail_.size, new_section_.alignment);
      tail_.size = section_.address + section_size_;
      return {};
    case SectionPlan::Head:
      return {};  // put_pages_below has placed it
  }
  return {};
}

std::optional<Obstacle> Draft::make_file_room() {
  if (auto why = loads_.make_file_room(space_, load_map_, wastes_)) return Obstacle{false, *why};
  // Kernels before 5.18 take the table's address from its file offset.
  if (attempt_.table != TablePlan::Below && load_map_(old_table().begin) != old_table().begin)
    return Obstacle{false, "the program headers would move in the file"};
  map_ = load_map_;
  if (attempt_.section == SectionPlan::Tail) {
    if (auto why = place_tail_in_file()) return Obstacle{false, *why};
  }
  for (Placed& placed : groups_) {
    if (placed.in_tail) placed.address += tail_.address;
    placed.offset = new_offset(placed);
  }
  if (section_.in_tail) section_.address += tail_.address;
  section_.offset = new_offset(section_);
  return {};
}

/// The file bytes follow those of the last PT_LOAD, as a linker would have it: tools warn about allocated sections
/// behind others. The address is the next page boundary, so that the mapping stays contiguous.
std::optional<std::string> Draft::place_tail_in_file() {
  std::uint64_t kept_end = 0;
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < loads_.segments().size(); ++i) {
    const Elf64_Phdr& segment = loads_.segments()[i];
    if (segment.p_type != PT_LOAD) continue;
    kept_end = std::max(kept_end, std::max<std::uint64_t>(loads_.kept_end(i), image_->segments()[i].p_offset +
                                                                                  image_->segments()[i].p_filesz));
    end = std::max<std::uint64_t>(end, load_map_(segment.p_offset) + segment.p_filesz);
  }
  // .bss's header names a place in the file too, and elflint takes the segment that begins there for its own.
  for (const Section& section : image_->sections()) {
    const bool unfilled = section.header.sh_type == SHT_NOBITS && (section.header.sh_flags & SHF_ALLOC) != 0;
    if (unfilled && section.header.sh_offset <= kept_end + loads_.page())
      end = std::max(end, load_map_(section.header.sh_offset));
  }
  tail_.offset = align_up(end + 1, tail_.alignment);
  tail_.address = loads_.address_above() + tail_.offset % loads_.page();
  if (const Claim* across = space_.claim_across(kept_end))
    return across->owner + " reaches over the end of the last PT_LOAD";
  const Claim* next = space_.next_claim(kept_end);
  if (next == nullptr) return {};
  const bool free = space_.is_zero({kept_end, next->range.begin});
  const std::uint64_t next_offset = load_map_(free ? next->range.begin : kept_end);
  const std::uint64_t tail_end = tail_.offset + tail_.size;
  if (tail_end > next_offset) map_.insert({kept_end, align_up(tail_end - next_offset, 64)});
  return {};
}

std::uint64_t Draft::new_offset(const Placed& placed) const {
  if (placed.in_tail) return tail_.offset + (placed.address - tail_.address);
  if (placed.in_head) return placed.address - head_.address;
  const Elf64_Phdr& load = loads_.segments()[placed.load];
  return load_map_(load.p_offset) + (placed.address - load.p_vaddr);
}

}  // namespace sframe_gen::elf
