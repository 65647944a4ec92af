#include <algorithm>
#include <utility>

#include "elf/build_id.hpp"
#include "elf/load_lookup.hpp"
#include "elf/plan/place_steps.hpp"
#include "support/text.hpp"

namespace sframe_gen::elf {

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

}  // namespace sframe_gen::elf
