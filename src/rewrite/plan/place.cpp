#include "rewrite/plan/place.hpp"

#include <algorithm>
#include <utility>

#include "rewrite/plan/below.hpp"
#include "rewrite/plan/plan_texts.hpp"
#include "support/text.hpp"

namespace sframe_gen::rewrite {

namespace {

/// File offset after the program headers of the output, where they begin as the old ones do.
std::uint64_t table_end(const elf::Image& image, const Placement& placement) {
  return image.header().e_phoff + placement.segment_count * sizeof(Elf64_Phdr);
}

/// Counts the program headers of the output.
std::uint64_t count_segments(const Task& task, const LayoutPlan& plan, bool drops_note) {
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

/// What a step of a plan runs into; no value if it works.
using Blocked = std::optional<PlanFailure>;

PlanFailure elsewhere(std::string why) {
  return {false, std::move(why)};
}

PlanFailure in_table(std::string why) {
  return {true, std::move(why)};
}

/// Turns a plan into a Placement.
class Placer {
 public:
  Placer(const Task& task, const LayoutPlan& plan)
      : task_(task), plan_(plan), placement_{plan, {}, 0, task.space, task.loads, {}, {}, {}, {}, false, {}, {}} {}

  std::variant<Placement, PlanFailure> run() {
    release_what_is_written_anew();
    if (plan_.section == SectionPlan::Gap && task_.existing.is_last && task_.existing.load == plan_.load)
      placement_.loads.shrink(plan_.load, task_.image.sections()[*task_.existing.section].header.sh_addr);
    if (Blocked blocked = make_room_for_table()) return *std::move(blocked);
    // Last in its PT_LOAD: a later run can then extend it.
    if (Blocked blocked = place_section()) return *std::move(blocked);
    // Only now is it known how much each PT_LOAD grows.
    if (Blocked blocked = make_file_room()) return *std::move(blocked);
    // A cheaper plan is the same then.
    const TablePlan table = table_plan_of(placement_);
    if (table != plan_.table) return elsewhere("it would be " + std::string(text_of(table).name));
    return std::move(placement_);
  }

 private:
  void release_what_is_written_anew() {
    const elf::Image& image = task_.image;
    if (plan_.drops_note) placement_.dropped_note = redundant_note(image);
    placement_.segment_count = count_segments(task_, plan_, placement_.dropped_note.has_value());
    FileSpace& space = placement_.space;
    // The old headers stay in memory where others come below them, and the table where it moves.
    if (plan_.table != TablePlan::Below) space.release({0, sizeof(Elf64_Ehdr)});
    if (plan_.table != TablePlan::Below && plan_.table != TablePlan::Moved) space.release(image.segment_table());
    space.release(task_.existing.bytes);
    if (task_.section.keeps_undo_record) space.release(task_.existing.undo_bytes);
    space.release(image.section_table());
    // Section 0, which has no bytes, if the file has no section headers.
    const Elf64_Shdr& names = image.sections()[image.section_name_table_index()].header;
    space.release({names.sh_offset, names.sh_offset + names.sh_size});
  }

  Blocked make_room_for_table() {
    if (plan_.table == TablePlan::Below) return put_pages_below(task_, placement_);
    if (plan_.table == TablePlan::Moved) return check_table_size(placement_);
    Range hole;
    if (Blocked blocked = make_room_in_place(hole)) return blocked;
    return place_groups(hole);
  }

  /// Makes room for the program headers where they are: what the table grows over moves. `hole` gets free bytes of the
  /// file after the table.
  Blocked make_room_in_place(Range& hole) {
    const elf::Image& image = task_.image;
    if (placement_.segment_count <= image.segments().size()) return std::nullopt;
    if (Blocked blocked = check_table_size(placement_)) return blocked;
    const auto load = header_load(image);
    if (!load) return in_table("no PT_LOAD holds the headers");
    const Range table{image.segment_table().begin, table_end(image, placement_)};
    const std::uint64_t held = image.segments()[*load].p_offset + image.segments()[*load].p_filesz;
    // Free Pascal's first PT_LOAD holds nothing but the headers and a note.
    if (held < table.end && !placement_.loads.take(*load, table.end - held, 1))
      return in_table("the PT_LOAD of the headers cannot grow");
    const FileClaim* in_the_way = nullptr;
    while ((in_the_way = placement_.space.next_claim(table.begin)) != nullptr && in_the_way->range.begin < table.end) {
      if (Blocked blocked = move_away(*in_the_way, *load)) return blocked;
    }
    if (!placement_.space.is_filler(table)) return in_table("unknown bytes follow the table");
    const std::uint64_t next_claim = in_the_way == nullptr ? UINT64_MAX : in_the_way->range.begin;
    return find_hole_after(table, std::min(next_claim, held), hole);
  }

  /// Lets the group that claims these bytes move elsewhere.
  Blocked move_away(const FileClaim& claim, std::size_t load) {
    const auto& found = task_.movability.group_at(claim.range.begin);
    if (const auto* immovable = std::get_if<Immovable>(&found)) return in_table(immovable->why);
    const auto& group = std::get<MovedSections>(found);
    if (claim.is_load || group.plan > plan_.table || !group.range.contains(claim.range))
      return in_table(elf::describe(claim.owner) + " is in the way");
    placement_.space.release(group.range);
    placement_.groups.push_back({group, false, false, load, 0, 0});
    return std::nullopt;
  }

  /// Finds free bytes between the program headers and `end`.
  Blocked find_hole_after(const Range& table, std::uint64_t end, Range& hole) const {
    if (plan_.section == SectionPlan::Replace && task_.existing.load) {
      // Its old bytes are free, but it comes back to the same place. lld puts it near the headers.
      const std::uint64_t section = task_.image.sections()[*task_.existing.section].header.sh_offset;
      const bool follows = section >= table.begin;
      if (follows && section < table.end) return in_table("the section that is there is in the way");
      if (follows) end = std::min(end, section);
    }
    hole = {table.end, end};
    if (hole.empty() || !placement_.space.is_zero(hole)) hole = {};
    return std::nullopt;
  }

  /// Places the groups into `hole`, after the end of their PT_LOAD, or into the tail.
  Blocked place_groups(Range hole) {
    // Linux before 6.12 looks for the build-id in the first page only: it has the first choice.
    std::ranges::stable_sort(placement_.groups, std::greater{},
                             [](const Placed& placed) { return placed.group.has_build_id; });
    for (Placed& placed : placement_.groups) {
      const MovedSections& group = placed.group;
      const Elf64_Phdr& load = task_.image.segments()[placed.load];
      const std::uint64_t base = load.p_vaddr - load.p_offset;
      const std::uint64_t in_hole = elf::align_up(base + hole.begin, group.alignment) - base;
      if (in_hole <= hole.end && group.range.size() <= hole.end - in_hole) {
        placed.address = base + in_hole;
        hole.begin = in_hole + group.range.size();
      } else if (const auto address = placement_.loads.take(placed.load, group.range.size(), group.alignment)) {
        placed.address = *address;
      } else if (Blocked blocked = place_in_tail(placed)) {
        return blocked;
      }
    }
    return std::nullopt;
  }

  Blocked place_in_tail(Placed& placed) {
    const std::uint64_t size = placed.group.range.size();
    if (plan_.section != SectionPlan::Tail || placed.group.alignment > placement_.loads.page())
      return in_table("there is no gap of " + count_of(size, "byte") + " for " +
                      elf::describe(task_.image.sections()[placed.group.sections.front()]));
    Tail& tail = placement_.tail;
    placed.in_tail = true;
    // LLVM's strip and objcopy take the first of two segments that begin at one file offset for the outer one, and
    // PT_INTERP stands in front of the PT_LOADs, as do mold's PT_NOTEs. So the PT_LOAD has to begin before them.
    if (tail.size == 0 && !placed.group.segments.empty()) tail.size = tail.alignment;
    placed.address = elf::align_up(tail.size, placed.group.alignment);
    tail.size = placed.address + size;
    tail.alignment = std::max(tail.alignment, placed.group.alignment);
    return std::nullopt;
  }

  Blocked place_section() {
    Placed& section = placement_.section;
    Tail& tail = placement_.tail;
    switch (plan_.section) {
      case SectionPlan::Replace:
        if (!task_.existing.load || task_.section_size > task_.existing.room)
          return elsewhere("the existing " + std::string(task_.section.name) + " is too small");
        section.load = *task_.existing.load;
        section.address = task_.image.sections()[*task_.existing.section].header.sh_addr;
        return std::nullopt;
      case SectionPlan::Gap: {
        const auto address = placement_.loads.take(plan_.load, task_.section_size, task_.section.alignment);
        if (!address)
          return elsewhere("the gap after the PT_LOAD at " + hex(task_.image.segments()[plan_.load].p_vaddr) +
                           " is smaller than " + count_of(task_.section_size, "byte"));
        section.load = plan_.load;
        section.address = *address;
        return std::nullopt;
      }
      case SectionPlan::Tail:
        section.in_tail = true;
        section.address = elf::align_up(tail.size, task_.section.alignment);
        tail.size = section.address + task_.section_size;
        if (plan_.table != TablePlan::Moved) return std::nullopt;
        // After the section: LLVM's tools take the first of two segments that begin at one file offset, here PT_PHDR,
        // for the outer one.
        tail.table = elf::align_up(tail.size, alignof(Elf64_Phdr));
        tail.size = tail.table + placement_.segment_count * sizeof(Elf64_Phdr);
        return std::nullopt;
      case SectionPlan::Head:      // put_pages_below has placed it
      case SectionPlan::Reserved:  // of a kernel, for which nothing is planned
        break;
    }
    return std::nullopt;
  }

  /// Finds file bytes for all that has an address.
  Blocked make_file_room() {
    OffsetMap& load_map = placement_.load_map;
    if (auto why = placement_.loads.make_file_room(placement_.space, load_map, placement_.wastes))
      return elsewhere(*std::move(why));
    // Kernels before 5.18 take the table's address from its file offset.
    const std::uint64_t table = task_.image.segment_table().begin;
    if (plan_.table != TablePlan::Below && load_map(table) != table)
      return elsewhere("the program headers would move in the file");
    placement_.map = load_map;
    if (plan_.section == SectionPlan::Tail) {
      if (Blocked blocked = place_tail_in_file()) return blocked;
    }
    for (Placed& placed : placement_.groups) place_in_file(placed);
    place_in_file(placement_.section);
    return std::nullopt;
  }

  void place_in_file(Placed& placed) const {
    if (placed.in_tail) {
      placed.offset = placement_.tail.offset + placed.address;
      placed.address += placement_.tail.address;
    } else if (placed.in_head) {
      placed.offset = placed.address - placement_.head.address;
    } else {
      const Elf64_Phdr& load = placement_.loads.segments()[placed.load];
      placed.offset = placement_.load_map(load.p_offset) + (placed.address - load.p_vaddr);
    }
  }

  /// The file bytes follow those of the last PT_LOAD, as a linker would have it: tools warn about allocated sections
  /// after others. The address is the next page boundary, so that the mapping stays contiguous.
  Blocked place_tail_in_file() {
    std::uint64_t kept_end = 0;
    std::uint64_t end = 0;
    for (std::size_t i = 0; i < placement_.loads.segments().size(); ++i) {
      const Elf64_Phdr& segment = placement_.loads.segments()[i];
      if (segment.p_type != PT_LOAD) continue;
      const Elf64_Phdr& old = task_.image.segments()[i];
      kept_end = std::max({kept_end, placement_.loads.kept_end(i), old.p_offset + old.p_filesz});
      end = std::max<std::uint64_t>(end, placement_.load_map(segment.p_offset) + segment.p_filesz);
    }
    // .bss's header names a place in the file too, and elflint takes the segment that begins there for its own.
    for (const elf::Section& section : task_.image.sections()) {
      const bool unfilled = section.header.sh_type == SHT_NOBITS && (section.header.sh_flags & SHF_ALLOC) != 0;
      if (unfilled && section.header.sh_offset <= kept_end + placement_.loads.page())
        end = std::max(end, placement_.load_map(section.header.sh_offset));
    }
    placement_.tail.offset = elf::align_up(end + 1, placement_.tail.alignment);
    placement_.tail.address = placement_.loads.address_above() + placement_.tail.offset % placement_.loads.page();
    if (plan_.table == TablePlan::Moved) {
      if (Blocked blocked = align_tail_with_first_load()) return blocked;
    }
    if (const FileClaim* across = placement_.space.claim_across(kept_end))
      return elsewhere(elf::describe(across->owner) + " reaches over the end of the last PT_LOAD");
    const FileClaim* next = placement_.space.next_claim(kept_end);
    if (next == nullptr) return std::nullopt;
    const bool free = placement_.space.is_zero({kept_end, next->range.begin});
    const std::uint64_t next_offset = placement_.load_map(free ? next->range.begin : kept_end);
    const std::uint64_t tail_end = placement_.tail.offset + placement_.tail.size;
    if (tail_end > next_offset) placement_.map.insert({kept_end, elf::align_up(tail_end - next_offset, 64)});
    return std::nullopt;
  }

  /// Linux before 5.18 takes the table to lie as far from the first PT_LOAD in memory as in the file, and so do
  /// programs that find it by the ELF header in memory. What lies between in memory alone, .bss, becomes a hole in the
  /// file then.
  Blocked align_tail_with_first_load() {
    constexpr std::uint64_t largest_hole = 64U << 20U;
    const Elf64_Phdr* const first = task_.image.find_segment(PT_LOAD);
    if (first == nullptr) return elsewhere("it has no PT_LOAD");
    const std::uint64_t base = first->p_vaddr - first->p_offset;  // modulo 2^64
    if (base % placement_.loads.page() != 0) return elsewhere("the first PT_LOAD does not begin at a page of the file");
    const std::uint64_t after_file = placement_.tail.offset;
    const std::uint64_t above_memory = placement_.loads.address_above() - base;
    if (above_memory > after_file && above_memory - after_file > largest_hole)
      return elsewhere("the file would get a hole of " + count_of(above_memory - after_file, "byte"));
    // In a page of the file with nothing else that is loaded: glibc takes the first mapping that holds the table's
    // pages for the table's, be it where .bss begins, and is cleared.
    placement_.tail.offset = std::max(elf::align_up(after_file, placement_.loads.page()), above_memory);
    placement_.tail.address = placement_.tail.offset + base;
    return std::nullopt;
  }

  const Task& task_;
  const LayoutPlan& plan_;
  Placement placement_;
};

}  // namespace

std::variant<Placement, PlanFailure> place(const Task& task, const LayoutPlan& plan) {
  return Placer(task, plan).run();
}

}  // namespace sframe_gen::rewrite
