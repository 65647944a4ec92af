#include <algorithm>
#include <utility>

#include "elf/plan/place_steps.hpp"
#include "elf/plan/placement.hpp"
#include "elf/plan/segment_table.hpp"
#include "elf/type_names.hpp"
#include "support/text.hpp"

namespace sframe_gen::elf {

namespace {

/// Those of the output.
std::uint64_t count_segments(const Task& task, const Plan& plan, bool drops_note) {
  std::uint64_t kept = 0;
  std::uint64_t unused = 0;
  for (const Elf64_Phdr& segment : task.image.segments()) {
    unused += segment.p_type == PT_NULL ? 1 : 0;
    kept += segment.p_type != PT_NULL && segment.p_type != task.section.segment_type ? 1U : 0U;
  }
  if (drops_note) --kept;
  const std::uint64_t used = kept + (task.section.segment_type ? 1U : 0U) +
                             (plan.section == SectionPlan::Tail ? 1U : 0U) + (plan.table == TablePlan::Below ? 1U : 0U);
  return std::max<std::uint64_t>(used, std::min<std::uint64_t>(kept + unused, task.image.segments().size()));
}

/// Everything at the file offsets of the input, and what the output has anew released.
Placement begin_placement(const Task& task, const Plan& plan) {
  const Image& image = task.image;
  Placement placement{plan, {}, 0, task.space, task.loads, {}, {}, {}, {}, false, {}, {}};
  if (plan.drops_note) placement.dropped_note = redundant_note(image);
  placement.segment_count = count_segments(task, plan, placement.dropped_note.has_value());
  // The old headers stay in memory where others come below them, and the table where it moves.
  if (plan.table != TablePlan::Below) placement.space.release({0, sizeof(Elf64_Ehdr)});
  if (plan.table != TablePlan::Below && plan.table != TablePlan::Moved) placement.space.release(old_table(image));
  placement.space.release(task.existing.bytes);
  if (task.section.keeps_way_back) placement.space.release(task.existing.undo_bytes);
  placement.space.release(image.section_table());
  if (!image.has_section_headers()) return placement;
  const Elf64_Shdr& names = image.sections()[image.section_name_table_index()].header;
  placement.space.release({names.sh_offset, names.sh_offset + names.sh_size});
  return placement;
}

/// Gives addresses to what moves for the program headers, and to the section.
class Placer {
 public:
  Placer(const Task& task, Placement& placement) : task_(task), placement_(placement) {}

  std::optional<Obstacle> run() {
    const Plan& plan = placement_.plan;
    if (plan.section == SectionPlan::Gap && task_.existing.is_last && task_.existing.load == plan.load)
      placement_.loads.shrink(plan.load, task_.image.sections()[*task_.existing.section].header.sh_addr);
    if (plan.table == TablePlan::Below) {
      if (auto obstacle = put_pages_below(task_, placement_)) return obstacle;
    } else if (plan.table == TablePlan::Moved) {
      if (!fits_page(placement_.segment_count)) return Obstacle{true, "the table would exceed one page"};
    } else {
      auto room = make_table_room(task_, placement_);
      if (auto* const obstacle = std::get_if<Obstacle>(&room)) return std::move(*obstacle);
      hole_ = std::get<FileRange>(room);
      if (auto obstacle = place_groups()) return obstacle;
    }
    // Last in its PT_LOAD: a later run can then extend it.
    return place_section();
  }

 private:
  std::optional<Obstacle> place_groups() {
    // Linux before 6.12 looks for the build-id in the first page only: it has the first choice.
    std::stable_sort(placement_.groups.begin(), placement_.groups.end(),
                     [](const Placed& a, const Placed& b) { return a.group.has_build_id > b.group.has_build_id; });
    for (Placed& placed : placement_.groups) {
      if (auto why = place_group(placed)) return Obstacle{true, *why};
    }
    return {};
  }

  std::optional<std::string> place_group(Placed& placed) {
    const std::uint64_t size = placed.group.range.end - placed.group.range.begin;
    const std::uint64_t base =
        task_.image.segments()[placed.load].p_vaddr - task_.image.segments()[placed.load].p_offset;
    const std::uint64_t in_hole = align_up(base + hole_.begin, placed.group.alignment) - base;
    if (in_hole <= hole_.end && size <= hole_.end - in_hole) {
      placed.address = base + in_hole;
      hole_.begin = in_hole + size;
      return {};
    }
    if (const auto address = placement_.loads.take(placed.load, size, placed.group.alignment)) {
      placed.address = *address;
      return {};
    }
    return place_in_tail(placed);
  }

  std::optional<std::string> place_in_tail(Placed& placed) {
    const std::uint64_t size = placed.group.range.end - placed.group.range.begin;
    if (placement_.plan.section != SectionPlan::Tail || placed.group.alignment > placement_.loads.page()) {
      return "there is no gap of " + hex(size) + " bytes for " +
             describe(task_.image.sections()[placed.group.sections.front()]);
    }
    placed.in_tail = true;
    // LLVM's strip and objcopy take the first of two segments that begin at one file offset for the outer one, and
    // PT_INTERP stands in front of the PT_LOADs, as do mold's PT_NOTEs. So the PT_LOAD has to begin before them.
    if (placement_.tail.size == 0 && !placed.group.segments.empty()) placement_.tail.size = placement_.tail.alignment;
    placed.address = align_up(placement_.tail.size, placed.group.alignment);
    placement_.tail.size = placed.address + size;
    placement_.tail.alignment = std::max(placement_.tail.alignment, placed.group.alignment);
    return {};
  }

  std::optional<Obstacle> place_section() {
    switch (placement_.plan.section) {
      case SectionPlan::Replace: {
        if (!task_.existing.load || task_.section_size > task_.existing.room)
          return Obstacle{false, "the " + std::string(task_.section.name) + " that is there has no room"};
        placement_.section.load = *task_.existing.load;
        placement_.section.address = task_.image.sections()[*task_.existing.section].header.sh_addr;
        return {};
      }
      case SectionPlan::Gap: {
        const auto address = placement_.loads.take(placement_.plan.load, task_.section_size, task_.section.alignment);
        if (!address) {
          return Obstacle{false, "the gap behind the PT_LOAD at " +
                                     hex(task_.image.segments()[placement_.plan.load].p_vaddr) + " is smaller than " +
                                     hex(task_.section_size) + " bytes"};
        }
        placement_.section.load = placement_.plan.load;
        placement_.section.address = *address;
        return {};
      }
      case SectionPlan::Tail:
        placement_.section.in_tail = true;
        placement_.section.address = align_up(placement_.tail.size, task_.section.alignment);
        placement_.tail.size = placement_.section.address + task_.section_size;
        if (placement_.plan.table == TablePlan::Moved) place_table_in_tail();
        return {};
      case SectionPlan::Head:
        return {};  // put_pages_below has placed it
    }
    return {};
  }

  /// Behind the section: LLVM's tools take the first of two segments that begin at one file offset, here PT_PHDR, for
  /// the outer one.
  void place_table_in_tail() {
    placement_.tail.table = align_up(placement_.tail.size, alignof(Elf64_Phdr));
    placement_.tail.size = placement_.tail.table + placement_.segment_count * sizeof(Elf64_Phdr);
  }

  const Task& task_;
  Placement& placement_;
  FileRange hole_;  ///< free bytes behind the program headers, cleared by what was evicted
};

}  // namespace

std::variant<Placement, Obstacle> place(const Task& task, const Plan& plan) {
  Placement placement = begin_placement(task, plan);
  if (auto obstacle = Placer(task, placement).run()) return std::move(*obstacle);
  if (auto obstacle = make_file_room(task, placement)) return std::move(*obstacle);
  // Then a cheaper plan is the same.
  const TablePlan table = table_plan_of(placement);
  if (table != plan.table) return Obstacle{false, std::string("it would be ") + short_name(table)};
  return placement;
}

TablePlan table_plan_of(const Placement& placement) {
  if (placement.plan.table >= TablePlan::Below) return placement.plan.table;
  TablePlan plan = TablePlan::Free;
  for (const Placed& placed : placement.groups) plan = std::max(plan, std::max(placed.group.plan, TablePlan::Notes));
  return plan;
}

}  // namespace sframe_gen::elf
