#include "elf/plan/load_growth.hpp"

#include <algorithm>

#include "elf/alignment.hpp"
#include "elf/machine.hpp"
#include "support/text.hpp"

namespace sframe_gen::elf {

namespace {

/// Section contents that are not loaded need no page, but their own alignment.
constexpr std::uint64_t unloaded_alignment = 64;

/// lld rounds PT_GNU_RELRO up to a page, beyond its PT_LOAD: what lies there changes its protection.
bool holds_addresses(const Elf64_Phdr& segment) {
  return segment.p_type == PT_LOAD || (segment.p_type == PT_GNU_RELRO && segment.p_memsz != 0);
}

}  // namespace

bool is_wasteful(std::uint64_t bytes, std::uint64_t needed) {
  return bytes >= std::uint64_t{1} << 20 && bytes / 2 > needed;
}

LoadGrowth::LoadGrowth(const Image& image, std::string_view replaced)
    : image_(&image), segments_(image.segments()), replaced_(replaced), page_(layout_page(image)) {
  kept_size_.reserve(segments_.size());
  for (const Elf64_Phdr& segment : segments_) kept_size_.push_back(segment.p_filesz);
}

std::uint64_t LoadGrowth::kept_end(std::size_t load) const {
  return segments_[load].p_offset + kept_size_[load];
}

void LoadGrowth::shrink(std::size_t load, std::uint64_t address) {
  Elf64_Phdr& segment = segments_[load];
  segment.p_filesz = segment.p_memsz = kept_size_[load] = address - segment.p_vaddr;
}

std::optional<std::uint64_t> LoadGrowth::take(std::size_t load, std::uint64_t size, std::uint64_t alignment) {
  Elf64_Phdr& segment = segments_[load];
  const bool read_only = segment.p_type == PT_LOAD && (segment.p_flags & (PF_R | PF_W)) == PF_R;
  if (!read_only || segment.p_filesz != segment.p_memsz || alignment > page_) return {};
  const std::uint64_t address = align_up(segment.p_vaddr + segment.p_memsz, alignment);
  const std::uint64_t limit = address_limit(load);
  if (address > limit || size > limit - address) return {};
  segment.p_filesz = segment.p_memsz = address + size - segment.p_vaddr;
  return address;
}

std::uint64_t LoadGrowth::address_limit(std::size_t load) const {
  const std::uint64_t end = segments_[load].p_vaddr + segments_[load].p_memsz;
  std::uint64_t limit = largest_number;
  for (const Elf64_Phdr& other : segments_) {
    if (holds_addresses(other) && other.p_vaddr > segments_[load].p_vaddr)
      limit = std::min(limit, align_down(other.p_vaddr, page_));
  }
  // An allocated section that no PT_LOAD covers keeps its addresses all the same; the old section does not.
  for (const Section& section : image_->sections()) {
    const bool occupies = (section.header.sh_flags & SHF_ALLOC) != 0 && (section.header.sh_flags & SHF_TLS) == 0 &&
                          section.header.sh_size != 0 && section.name != replaced_;
    if (occupies && section.header.sh_addr >= end) limit = std::min(limit, section.header.sh_addr);
  }
  return limit;
}

std::uint64_t LoadGrowth::insertion_unit(std::uint64_t at) const {
  const bool loads_follow = std::any_of(segments_.begin(), segments_.end(), [&](const Elf64_Phdr& segment) {
    return segment.p_type == PT_LOAD && segment.p_offset >= at;
  });
  return loads_follow ? page_ : unloaded_alignment;
}

std::optional<std::string> LoadGrowth::make_file_room(const FileSpace& space, OffsetMap& map, bool& wastes) const {
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    const std::uint64_t needed = segments_[i].p_filesz - std::min(kept_size_[i], segments_[i].p_filesz);
    if (needed == 0) continue;
    const std::uint64_t end = kept_end(i);
    if (const Claim* across = space.claim_across(end))
      return owner_of(*across) + " reaches over the end of the PT_LOAD at " + hex(segments_[i].p_vaddr);
    const Claim* next = space.next_claim(end);
    std::uint64_t free = next == nullptr ? needed : std::min(needed, next->range.begin - end);
    // Unknown bytes stay in front of what follows. What a PT_LOAD gave up is free in any case.
    const std::uint64_t given_up = image_->segments()[i].p_offset + image_->segments()[i].p_filesz - end;
    if (!space.is_zero({end, end + free})) free = std::min(needed, given_up);
    if (free == needed) continue;
    const std::uint64_t at = end + free;
    const std::uint64_t bytes = align_up(needed - free, insertion_unit(at));
    wastes = wastes || is_wasteful(bytes, needed);
    map.insert({at, bytes});
  }
  return {};
}

std::uint64_t LoadGrowth::address_above() const {
  std::uint64_t above = 0;
  for (const Elf64_Phdr& segment : segments_) {
    if (holds_addresses(segment)) above = std::max(above, align_up(segment.p_vaddr + segment.p_memsz, page_));
  }
  return above;
}

}  // namespace sframe_gen::elf
