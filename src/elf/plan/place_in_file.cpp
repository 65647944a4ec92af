#include <algorithm>

#include "elf/plan/place_steps.hpp"
#include "support/text.hpp"

namespace sframe_gen::elf {

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

}  // namespace sframe_gen::elf
