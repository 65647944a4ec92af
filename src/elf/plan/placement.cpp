#include "elf/plan/placement.hpp"

#include <algorithm>
#include <utility>

#include "elf/image.hpp"
#include "elf/machine.hpp"
#include "elf/notes.hpp"
#include "elf/plan/tables.hpp"
#include "support/text.hpp"

namespace sframe_gen::elf {

namespace {

/// Lets the group that claims these bytes move elsewhere.
std::optional<Obstacle> evict(const Task& task, Placement& placement, const Claim& claim, std::size_t load) {
  const auto& found = task.movability.group_at(claim.range.begin);
  if (const auto* immovable = std::get_if<Immovable>(&found)) return Obstacle{true, immovable->why};
  const auto& group = std::get<Group>(found);
  if (claim.is_load || group.plan > placement.plan.table || !group.range.contains(claim.range))
    return Obstacle{true, owner_of(claim) + " is in the way"};
  placement.space.release(group.range);
  placement.groups.push_back({group, false, false, load, 0, 0});
  return {};
}

/// Free bytes between the program headers and `end`.
std::variant<FileRange, Obstacle> find_hole(const Task& task, const Placement& placement, FileRange table,
                                            std::uint64_t end) {
  if (placement.plan.section == SectionPlan::Replace && task.existing.load) {
    // Its old bytes are free, but it comes back to the same place. lld puts it near the headers.
    const std::uint64_t section = task.image.sections()[*task.existing.section].header.sh_offset;
    const bool behind = section >= table.begin;
    if (behind && section < table.end) return Obstacle{true, "the section that is there is in the way"};
    if (behind) end = std::min(end, section);
  }
  const FileRange hole{table.end, end};
  return hole.empty() || !placement.space.is_zero(hole) ? FileRange{} : hole;
}

}  // namespace

std::variant<FileRange, Obstacle> make_table_room(const Task& task, Placement& placement) {
  const Image& image = task.image;
  if (placement.segment_count <= image.segments().size()) return FileRange{};
  if (!fits_page(placement.segment_count)) return Obstacle{true, "the table would exceed one page"};
  const auto load = header_load(image);
  if (!load) return Obstacle{true, "no PT_LOAD holds the headers"};
  const FileRange table{old_table(image).begin, table_end(image, placement)};
  const std::uint64_t held = image.segments()[*load].p_offset + image.segments()[*load].p_filesz;
  // Free Pascal's first PT_LOAD holds nothing but the headers and a note.
  if (held < table.end && !placement.loads.take(*load, table.end - held, 1))
    return Obstacle{true, "the PT_LOAD of the headers cannot grow"};
  const Claim* in_the_way = nullptr;
  while ((in_the_way = placement.space.next_claim(table.begin)) != nullptr && in_the_way->range.begin < table.end) {
    if (auto obstacle = evict(task, placement, *in_the_way, *load)) return std::move(*obstacle);
  }
  if (!placement.space.is_filler(table)) return Obstacle{true, "unknown bytes stand behind the table"};
  const std::uint64_t next_claim = in_the_way == nullptr ? UINT64_MAX : in_the_way->range.begin;
  return find_hole(task, placement, table, std::min(next_claim, held));
}

FileRange old_table(const Image& image) {
  const std::uint64_t begin = image.header().e_phoff;
  return {begin, begin + image.segments().size() * sizeof(Elf64_Phdr)};
}

std::uint64_t table_end(const Image& image, const Placement& placement) {
  return image.header().e_phoff + placement.segment_count * sizeof(Elf64_Phdr);
}

bool fits_page(std::uint64_t segment_count) {
  return segment_count * sizeof(Elf64_Phdr) <= 4096;
}

std::optional<std::size_t> header_load(const Image& image) {
  return find_load_at_offset(image, image.header().e_phoff);
}

namespace {

/// vm.mmap_min_addr as Linux and distributions set it: the kernel maps nothing below.
constexpr std::uint64_t lowest_address = 0x10000;

/// It would lie behind the new pages.
void keep_build_id_in_first_page(const Task& task, Placement& placement) {
  const auto offset = build_id_in_first_page(task.image);
  if (!offset) return;
  const auto& found = task.movability.group_at(*offset);
  const auto* const group = std::get_if<Group>(&found);
  if (group == nullptr || group->plan != TablePlan::Notes) return;
  Placed placed{*group, false, true, 0, align_up(placement.head.size, group->alignment), 0};
  placement.head.size = placed.address + (group->range.end - group->range.begin);
  placement.space.release(group->range);
  placement.groups.push_back(std::move(placed));
}

}  // namespace

/// Every kernel finds the table there: those before 5.18 look for it in the first PT_LOAD.
std::optional<Obstacle> put_pages_below(const Task& task, Placement& placement) {
  if (task.image.find_section(old_headers_name) != nullptr) return Obstacle{true, "pages have been put there before"};
  // patchelf before 0.19 moves the sections of a dynamic program by what stands at its lowest address.
  if (task.image.find_segment(PT_INTERP) != nullptr)
    return Obstacle{true, "it has a dynamic loader, and patchelf would break it"};
  if (old_table(task.image).begin != sizeof(Elf64_Ehdr)) return Obstacle{true, "its program headers have been moved"};
  if (!fits_page(placement.segment_count)) return Obstacle{true, "the table would exceed one page"};
  const std::uint64_t begin = align_down(lowest_load(task.image)->p_vaddr, placement.loads.page());
  placement.head.size = table_end(task.image, placement);
  keep_build_id_in_first_page(task, placement);
  if (placement.plan.section == SectionPlan::Head) {
    placement.section.in_head = true;
    placement.section.address = align_up(placement.head.size, task.section.alignment);
    placement.head.size = placement.section.address + task.section_size;
  }
  placement.head.pages = align_up(placement.head.size, placement.loads.page());
  if (begin < lowest_address || begin - lowest_address < placement.head.pages) {
    return Obstacle{true, "there are no " + hex(placement.head.pages) + " bytes of addresses between " +
                              hex(lowest_address) + " and " + hex(begin)};
  }
  for (const Section& section : task.image.sections()) {
    if ((section.header.sh_flags & SHF_ALLOC) != 0 && section.header.sh_size != 0 && section.header.sh_addr < begin)
      return Obstacle{true, "section " + section.name + " lies there"};
  }
  placement.head.address = begin - placement.head.pages;
  for (Placed& placed : placement.groups) placed.address += placement.head.address;
  placement.section.address += placement.head.address;
  placement.load_map.insert({0, placement.head.pages});
  placement.wastes = placement.wastes || is_wasteful(placement.head.pages, placement.head.size);
  return {};
}

namespace {

/// Linux before 5.18 takes the table to lie as far from the first PT_LOAD in memory as in the file, and so do programs
/// that find it by the ELF header in memory. What lies between in memory alone, .bss, becomes a hole in the file then.
std::optional<std::string> align_tail_with_first_load(const Task& task, Placement& placement) {
  constexpr std::uint64_t largest_hole = 64U << 20U;
  const Elf64_Phdr* const first = task.image.find_segment(PT_LOAD);
  if (first == nullptr) return "it has no PT_LOAD";
  const std::uint64_t base = first->p_vaddr - first->p_offset;  // modulo 2^64
  if (base % placement.loads.page() != 0) return "the first PT_LOAD does not begin at a page of the file";
  const std::uint64_t after_file = placement.tail.offset;
  const std::uint64_t above_memory = placement.loads.address_above() - base;
  if (above_memory > after_file && above_memory - after_file > largest_hole)
    return "the file would get a hole of " + hex(above_memory - after_file) + " bytes";
  // In a page of the file with nothing else that is loaded: glibc takes the first mapping that holds the table's pages
  // for the table's, be it where .bss begins, and is cleared.
  placement.tail.offset = std::max(align_up(after_file, placement.loads.page()), above_memory);
  placement.tail.address = placement.tail.offset + base;
  return {};
}

/// The file bytes follow those of the last PT_LOAD, as a linker would have it: tools warn about allocated sections
/// behind others. The address is the next page boundary, so that the mapping stays contiguous.
std::optional<std::string> place_tail_in_file(const Task& task, Placement& placement) {
  std::uint64_t kept_end = 0;
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < placement.loads.segments().size(); ++i) {
    const Elf64_Phdr& segment = placement.loads.segments()[i];
    if (segment.p_type != PT_LOAD) continue;
    kept_end =
        std::max(kept_end, std::max<std::uint64_t>(placement.loads.kept_end(i), task.image.segments()[i].p_offset +
                                                                                    task.image.segments()[i].p_filesz));
    end = std::max<std::uint64_t>(end, placement.load_map(segment.p_offset) + segment.p_filesz);
  }
  // .bss's header names a place in the file too, and elflint takes the segment that begins there for its own.
  for (const Section& section : task.image.sections()) {
    const bool unfilled = section.header.sh_type == SHT_NOBITS && (section.header.sh_flags & SHF_ALLOC) != 0;
    if (unfilled && section.header.sh_offset <= kept_end + placement.loads.page())
      end = std::max(end, placement.load_map(section.header.sh_offset));
  }
  placement.tail.offset = align_up(end + 1, placement.tail.alignment);
  placement.tail.address = placement.loads.address_above() + placement.tail.offset % placement.loads.page();
  if (placement.plan.table == TablePlan::Moved) {
    if (auto why = align_tail_with_first_load(task, placement)) return why;
  }
  if (const Claim* across = placement.space.claim_across(kept_end))
    return owner_of(*across) + " reaches over the end of the last PT_LOAD";
  const Claim* next = placement.space.next_claim(kept_end);
  if (next == nullptr) return {};
  const bool free = placement.space.is_zero({kept_end, next->range.begin});
  const std::uint64_t next_offset = placement.load_map(free ? next->range.begin : kept_end);
  const std::uint64_t tail_end = placement.tail.offset + placement.tail.size;
  if (tail_end > next_offset) placement.map.insert({kept_end, align_up(tail_end - next_offset, 64)});
  return {};
}

std::uint64_t new_offset(const Placed& placed, const Placement& placement) {
  if (placed.in_tail) return placement.tail.offset + (placed.address - placement.tail.address);
  if (placed.in_head) return placed.address - placement.head.address;
  const Elf64_Phdr& load = placement.loads.segments()[placed.load];
  return placement.load_map(load.p_offset) + (placed.address - load.p_vaddr);
}

}  // namespace

std::optional<Obstacle> make_file_room(const Task& task, Placement& placement) {
  if (auto why = placement.loads.make_file_room(placement.space, placement.load_map, placement.wastes))
    return Obstacle{false, *why};
  // Kernels before 5.18 take the table's address from its file offset.
  if (placement.plan.table != TablePlan::Below &&
      placement.load_map(old_table(task.image).begin) != old_table(task.image).begin)
    return Obstacle{false, "the program headers would move in the file"};
  placement.map = placement.load_map;
  if (placement.plan.section == SectionPlan::Tail) {
    if (auto why = place_tail_in_file(task, placement)) return Obstacle{false, *why};
  }
  for (Placed& placed : placement.groups) {
    if (placed.in_tail) placed.address += placement.tail.address;
    placed.offset = new_offset(placed, placement);
  }
  if (placement.section.in_tail) placement.section.address += placement.tail.address;
  placement.section.offset = new_offset(placement.section, placement);
  return {};
}

namespace {

/// What a short name does not say.
const char* meaning_of(SectionPlan plan) {
  switch (plan) {
    case SectionPlan::Replace:
      return "goes over the one that is there";
    case SectionPlan::Gap:
      return "goes into the gap behind a segment";
    case SectionPlan::Head:
      return "goes into a segment below all others";
    case SectionPlan::Tail:
      return "goes into a segment above all others";
  }
  return "";
}

}  // namespace

bool moves_build_id(const Image& image, const Placement& placement) {
  const auto offset = build_id_in_first_page(image);
  if (!offset) return false;
  // It looks for the program headers right behind the ELF header, too.
  if (placement.plan.table == TablePlan::Moved) return true;
  std::uint64_t now = placement.map(*offset);
  for (const Placed& placed : placement.groups) {
    const FileRange& range = placed.group.range;
    if (range.begin <= *offset && *offset < range.end) now = placed.offset + (*offset - range.begin);
  }
  return !is_build_id_in_first_page(image, now);
}

Cost cost_of(const Image& image, const Placement& placement) {
  Cost cost = least_cost(placement.plan);
  cost.waste = placement.wastes;
  const bool fixed = image.header().e_type == ET_EXEC;
  cost.in_tail = fixed && std::any_of(placement.groups.begin(), placement.groups.end(),
                                      [](const Placed& placed) { return placed.in_tail; });
  cost.build_id = moves_build_id(image, placement);
  for (const Insertion& insertion : placement.map.insertions()) cost.growth += insertion.bytes;
  return cost;
}

std::string description_of(const Image& image, const Placement& placement) {
  const Cost costs = cost_of(image, placement);
  std::string text = std::string("the section ") + meaning_of(placement.plan.section);
  const auto add = [&](const std::string& part) { text += ", " + part; };
  for (const Placed& placed : placement.groups) {
    for (const std::uint32_t index : placed.group.sections) add(image.sections()[index].name + " moves");
  }
  if (costs.moves_table) add("the program headers move behind it");
  if (costs.in_tail) add("the new segment holds them too");
  if (costs.build_id) add("the build-id leaves the first page");
  add("inserts " + std::to_string(costs.growth) + " bytes" + (costs.waste ? ", most of them unused" : ""));
  return text;
}

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
