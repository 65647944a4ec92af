#include <algorithm>

#include "elf/load_lookup.hpp"
#include "elf/machine.hpp"
#include "elf/plan/draft.hpp"
#include "support/text.hpp"

namespace sframe_gen::elf {

namespace {

/// vm.mmap_min_addr as Linux and distributions set it: the kernel maps nothing below.
constexpr std::uint64_t lowest_address = 0x10000;

}  // namespace

/// Every kernel finds the table there: those before 5.18 look for it in the first PT_LOAD.
std::optional<Obstacle> Draft::put_pages_below() {
  if (image_->find_section(old_headers_name) != nullptr) return Obstacle{true, "pages have been put there before"};
  // patchelf before 0.19 moves the sections of a dynamic program by what stands at its lowest address.
  if (image_->find_segment(PT_INTERP) != nullptr)
    return Obstacle{true, "it has a dynamic loader, and patchelf would break it"};
  if (old_table().begin != sizeof(Elf64_Ehdr)) return Obstacle{true, "its program headers have been moved"};
  if (segment_count() * sizeof(Elf64_Phdr) > 4096) return Obstacle{true, "the table would exceed one page"};
  const std::uint64_t begin = align_down(lowest_load(*image_)->p_vaddr, loads_.page());
  head_.size = table_end();
  keep_build_id_in_first_page();
  if (attempt_.section == SectionPlan::Head) {
    section_.in_head = true;
    section_.address = align_up(head_.size, new_section_.alignment);
    head_.size = section_.address + section_size_;
  }
  head_.pages = align_up(head_.size, loads_.page());
  if (begin < lowest_address || begin - lowest_address < head_.pages) {
    return Obstacle{true, "there are no " + hex(head_.pages) + " bytes of addresses between " + hex(lowest_address) +
                              " and " + hex(begin)};
  }
  for (const Section& section : image_->sections()) {
    if ((section.header.sh_flags & SHF_ALLOC) != 0 && section.header.sh_size != 0 && section.header.sh_addr < begin)
      return Obstacle{true, "section " + section.name + " lies there"};
  }
  head_.address = begin - head_.pages;
  for (Placed& placed : groups_) placed.address += head_.address;
  section_.address += head_.address;
  load_map_.insert({0, head_.pages});
  wastes_ = wastes_ || is_wasteful(head_.pages, head_.size);
  return {};
}

/// It would lie behind the new pages.
void Draft::keep_build_id_in_first_page() {
  const auto offset = build_id_offset();
  if (!offset) return;
  const auto found = movability_->group_at(*offset);
  const auto* const group = std::get_if<Group>(&found);
  if (group == nullptr || group->plan != TablePlan::Notes) return;
  Placed placed{*group, false, true, 0, align_up(head_.size, group->alignment), 0};
  head_.size = placed.address + (group->range.end - group->range.begin);
  space_.release(group->range);
  groups_.push_back(std::move(placed));
}

void Draft::lay_out_old_headers(Layout& layout) const {
  if (attempt_.table != TablePlan::Below) return;
  OldHeaders old;
  old.header = image_->header();
  old.offset = head_.pages;
  if (const auto load = header_load()) {
    const Elf64_Phdr& segment = image_->segments()[*load];
    old.address = segment.p_vaddr;
    old.size = std::min(segment.p_filesz, old_table().end);
    // From the old header to the new table, modulo 2^64.
    old.header.e_phoff = head_.address + sizeof(Elf64_Ehdr) - old.address;
  }
  old.header.e_phnum = layout.header.e_phnum;
  layout.old_headers = old;
}

}  // namespace sframe_gen::elf
