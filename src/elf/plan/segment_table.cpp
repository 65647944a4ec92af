#include "elf/plan/segment_table.hpp"

#include <algorithm>
#include <utility>

#include "elf/load_lookup.hpp"

namespace sframe_gen::elf {

namespace {

/// ld -n and -N align to less than a page. Tools that write the file anew may then put the bytes at an offset that
/// agrees with the address in no more than that; behind a PT_LOAD that was added they do, and the kernel cannot map it.
void raise_to_page(Elf64_Phdr& load) {
  constexpr std::uint64_t smallest_page = 0x1000;
  if (load.p_align < smallest_page && (load.p_vaddr - load.p_offset) % smallest_page == 0) load.p_align = smallest_page;
}

}  // namespace

SegmentTable::SegmentTable(const Image& image, const std::vector<Elf64_Phdr>& segments, const OffsetMap& load_map,
                           const OffsetMap& map)
    : image_(&image), segments_(segments), load_map_(&load_map), map_(&map), moved_(segments.size(), false) {
  for (std::size_t i = 0; i < segments_.size(); ++i) segments_[i].p_offset = new_offset(i);
}

std::uint64_t SegmentTable::new_offset(std::size_t index) const {
  const Elf64_Phdr& segment = image_->segments()[index];
  // PT_GNU_STACK and its like are all zero but for their flags.
  if (segment.p_type == PT_LOAD) return (*load_map_)(segment.p_offset);
  if (segment.p_type == PT_NULL || segment.p_offset == 0) return segment.p_offset;
  const Elf64_Phdr* load = find_load(*image_, segment.p_vaddr, segment.p_memsz, segment.p_offset);
  // GNU ld gives a PT_GNU_PROPERTY to a note that is not loaded, too.
  const bool not_loaded = segment.p_memsz == 0 && segment.p_filesz != 0;
  if (load == nullptr || not_loaded) return (*map_)(segment.p_offset);
  return segment.p_offset + ((*load_map_)(load->p_offset) - load->p_offset);
}

void SegmentTable::move(std::size_t index, std::uint64_t offset, std::uint64_t address) {
  Elf64_Phdr& segment = segments_[index];
  segment.p_paddr += address - segment.p_vaddr;
  segment.p_vaddr = address;
  segment.p_offset = offset;
  moved_[index] = true;
}

void SegmentTable::add_first_load(std::uint64_t address, std::uint64_t size, std::uint64_t alignment) {
  first_load_ = {PT_LOAD, PF_R, 0, address, address, size, size, alignment};
  move_table(sizeof(Elf64_Ehdr), address + sizeof(Elf64_Ehdr));
}

void SegmentTable::take_in_header() {
  const Elf64_Phdr* const shared = load_that_shares_page_of_header(*image_);
  if (shared == nullptr) return;
  Elf64_Phdr& load = segments_[static_cast<std::size_t>(shared - image_->segments().data())];
  const std::uint64_t before = shared->p_offset;
  load.p_offset -= before;
  load.p_vaddr -= before;
  load.p_paddr -= before;
  load.p_filesz += before;
  load.p_memsz += before;
}

void SegmentTable::add_load(std::uint64_t offset, std::uint64_t address, std::uint64_t size, std::uint64_t alignment) {
  new_loads_.push_back({PT_LOAD, PF_R, offset, address, address, size, size, alignment});
}

void SegmentTable::set_section(const NewSection& section, std::uint64_t offset, std::uint64_t address,
                               std::uint64_t size) {
  if (section.segment_type)
    section_ = {*section.segment_type, PF_R, offset, address, address, size, size, section.alignment};
}

bool SegmentTable::is_last_load(std::size_t index) const {
  return segments_[index].p_type == PT_LOAD &&
         std::none_of(segments_.begin() + static_cast<std::ptrdiff_t>(index) + 1, segments_.end(),
                      [](const Elf64_Phdr& later) { return later.p_type == PT_LOAD; });
}

std::vector<Elf64_Phdr> SegmentTable::build(std::size_t count) const {
  std::vector<Elf64_Phdr> table;
  bool has_section = !section_;
  const Elf64_Phdr* first_load = first_load_ ? &*first_load_ : nullptr;
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    if (segments_[i].p_type == PT_NULL) continue;
    if (segments_[i].p_type == PT_LOAD && first_load != nullptr) table.push_back(*std::exchange(first_load, nullptr));
    if (!section_ || segments_[i].p_type != section_->p_type) {
      table.push_back(segments_[i]);
    } else if (!has_section) {
      table.push_back(*section_);
      has_section = true;
    }
    if (is_last_load(i)) table.insert(table.end(), new_loads_.begin(), new_loads_.end());
  }
  if (!has_section) table.push_back(*section_);
  table.resize(std::max(count, table.size()));
  for (Elf64_Phdr& segment : table) {
    if (segment.p_type == PT_LOAD) raise_to_page(segment);
    if (segment.p_type != PT_PHDR) continue;
    segment.p_filesz = segment.p_memsz = table.size() * sizeof(Elf64_Phdr);
    if (!table_) continue;
    segment.p_offset = table_->offset;
    segment.p_vaddr = segment.p_paddr = table_->address;
  }
  return table;
}

std::optional<std::size_t> redundant_note(const Image& image) {
  const Elf64_Phdr* const property = image.find_segment(PT_GNU_PROPERTY);
  for (std::size_t i = 0; property != nullptr && i < image.segments().size(); ++i) {
    const Elf64_Phdr& note = image.segments()[i];
    if (note.p_type == PT_NOTE && note.p_offset == property->p_offset && note.p_vaddr == property->p_vaddr &&
        note.p_filesz == property->p_filesz && note.p_memsz == property->p_memsz)
      return i;
  }
  return {};
}

}  // namespace sframe_gen::elf
