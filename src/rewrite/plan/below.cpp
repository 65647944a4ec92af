#include "rewrite/plan/below.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "elf/image.hpp"
#include "elf/machine.hpp"
#include "elf/records.hpp"
#include "support/text.hpp"

namespace sframe_gen::rewrite {

namespace {

/// vm.mmap_min_addr as Linux and distributions set it: the kernel maps nothing under it.
constexpr std::uint64_t lowest_address = 0x10000;

/// The new table follows the new ELF header.
constexpr std::uint64_t table_offset = sizeof(Elf64_Ehdr);

PlanFailure impossible(std::string why) {
  return {.in_table = true, .why = std::move(why)};
}

std::optional<PlanFailure> check_program(const elf::Image& image) {
  if (image.find_section(elf::old_headers_name) != nullptr) return impossible("pages have been put there before");
  // patchelf before 0.19 moves the sections of a dynamic program by what stands at its lowest address.
  if (image.find_segment(PT_INTERP) != nullptr)
    return impossible("it has a dynamic loader, and patchelf would break it");
  if (image.segment_table().begin != table_offset) return impossible("its program headers have been moved");
  return std::nullopt;
}

/// Puts the build-id into the new pages, if it would follow them otherwise: Linux before 6.12 looks for it in the first
/// page only.
void keep_build_id_in_first_page(const Task& task, Placement& placement) {
  if (!task.build_id) return;
  const auto& found = task.movability.group_at(task.build_id->begin);
  const auto* const group = std::get_if<MovedSections>(&found);
  if (group == nullptr || group->plan != TablePlan::Notes) return;
  Placed placed{*group, false, true, 0, elf::align_up(placement.head.size, group->alignment), 0};
  placement.head.size = placed.address + group->range.size();
  placement.space.release(group->range);
  placement.groups.push_back(std::move(placed));
}

/// The PT_LOAD at the lowest address; null where there is none.
const Elf64_Phdr* lowest_load(const elf::Image& image) {
  const Elf64_Phdr* lowest = nullptr;
  for (const Elf64_Phdr& segment : image.segments())
    if (segment.p_type == PT_LOAD && (lowest == nullptr || segment.p_vaddr < lowest->p_vaddr)) lowest = &segment;
  return lowest;
}

/// Finds addresses for the new pages, whose size is known by now.
std::optional<PlanFailure> find_addresses(const Task& task, Placement& placement) {
  const elf::Image& image = task.image;
  const std::uint64_t page = placement.loads.page();
  const std::uint64_t begin = elf::align_down(lowest_load(image)->p_vaddr, page);
  Head& head = placement.head;
  head.pages = elf::align_up(head.size, page);
  head.alignment = elf::load_alignment(image);
  // lld's programs begin at 2 MiB. Linked for pages of that size as well, they leave room for smaller ones only.
  std::uint64_t size = head.pages;
  if (begin < lowest_address + head.pages) {
    head.alignment = std::min(page, elf::machine_of(image).largest_page);
    size = elf::align_up(head.size, head.alignment);
  }
  if (begin < lowest_address || begin - lowest_address < size)
    return impossible("there are no " + count_of(size, "byte") + " of addresses between " + hex(lowest_address) +
                      " and " + hex(begin));
  for (const elf::Section& section : image.sections()) {
    if ((section.header.sh_flags & SHF_ALLOC) != 0 && section.header.sh_size != 0 && section.header.sh_addr < begin)
      return impossible("section " + section.name + " is there");
  }
  head.address = begin - size;
  return std::nullopt;
}

/// The lowest PT_LOAD, where the kernel maps the ELF header with it although it begins after that: pages are mapped as
/// a whole. Null where it does not. Seen in what ld.lld --omagic links.
const Elf64_Phdr* load_that_shares_page_of_header(const elf::Image& image) {
  constexpr std::uint64_t smallest_page = 0x1000;
  const Elf64_Phdr* const lowest = lowest_load(image);
  if (lowest == nullptr || lowest->p_offset == 0 || lowest->p_offset >= smallest_page) return nullptr;
  const bool is_mapped =
      lowest->p_vaddr >= lowest->p_offset && (lowest->p_vaddr - lowest->p_offset) % smallest_page == 0;
  return is_mapped && lowest->p_offset >= sizeof(Elf64_Ehdr) ? lowest : nullptr;
}

/// The addresses of the input's ELF header and program headers; empty where they are not in memory.
Range addresses_of_headers(const elf::Image& image) {
  const std::uint64_t size = image.segment_table().end;
  if (const auto load = header_load(image)) {
    const Elf64_Phdr& segment = image.segments()[*load];
    return {segment.p_vaddr, segment.p_vaddr + std::min(segment.p_filesz, size)};
  }
  if (const Elf64_Phdr* const shared = load_that_shares_page_of_header(image)) {
    const std::uint64_t address = shared->p_vaddr - shared->p_offset;
    return {address, address + size};
  }
  return {};
}

/// Lets the PT_LOAD that shares the page of the ELF header hold it from now on.
void take_in_header(const elf::Image& image, std::vector<Elf64_Phdr>& segments) {
  const Elf64_Phdr* const shared = load_that_shares_page_of_header(image);
  if (shared == nullptr) return;
  const auto load = std::ranges::find_if(segments, [&](const Elf64_Phdr& segment) {
    return segment.p_type == PT_LOAD && segment.p_vaddr == shared->p_vaddr;
  });
  const std::uint64_t before = shared->p_offset;
  load->p_offset -= before;
  load->p_vaddr -= before;
  load->p_paddr -= before;
  load->p_filesz += before;
  load->p_memsz += before;
}

}  // namespace

std::optional<PlanFailure> put_pages_below(const Task& task, Placement& placement) {
  if (auto failure = check_program(task.image)) return failure;
  if (auto failure = check_table_size(placement)) return failure;
  Head& head = placement.head;
  head.size = table_offset + placement.segment_count * sizeof(Elf64_Phdr);
  keep_build_id_in_first_page(task, placement);
  if (placement.plan.section == SectionPlan::Head) {
    placement.section.in_head = true;
    placement.section.address = elf::align_up(head.size, task.section.alignment);
    head.size = placement.section.address + task.section_size;
  }
  if (auto failure = find_addresses(task, placement)) return failure;
  for (Placed& placed : placement.groups) placed.address += head.address;
  placement.section.address += head.address;
  placement.load_map.insert({0, head.pages});
  placement.wastes = placement.wastes || is_wasteful(head.pages, head.size);
  return std::nullopt;
}

void lay_out_pages_below(const Task& task, const Placement& placement, Layout& layout) {
  const Head& head = placement.head;
  const std::uint64_t table = head.address + table_offset;
  std::vector<Elf64_Phdr>& segments = layout.segments;
  take_in_header(task.image, segments);
  segments.insert(std::ranges::find(segments, std::uint32_t{PT_LOAD}, &Elf64_Phdr::p_type),
                  {PT_LOAD, PF_R, 0, head.address, head.address, head.size, head.size, head.alignment});
  for (Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_PHDR) continue;
    segment.p_offset = table_offset;
    segment.p_vaddr = segment.p_paddr = table;
  }
  layout.old_header = {head.pages, task.image.header()};
  Elf64_Ehdr& old = layout.old_header->header;
  const Range addresses = addresses_of_headers(task.image);
  // From the old header to the new table, modulo 2^64.
  if (!addresses.empty()) old.e_phoff = table - addresses.begin;
  old.e_phnum = static_cast<std::uint16_t>(placement.segment_count);
}

std::optional<Elf64_Shdr> old_headers_section(const Task& task, const Placement& placement) {
  if (placement.plan.table != TablePlan::Below) return std::nullopt;
  const Range addresses = addresses_of_headers(task.image);
  if (addresses.empty()) return std::nullopt;
  return Elf64_Shdr{0, SHT_PROGBITS, SHF_ALLOC, addresses.begin, placement.head.pages, addresses.size(), 0, 0, 8, 0};
}

}  // namespace sframe_gen::rewrite
