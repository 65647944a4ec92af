#include "rewrite/plan/file_space.hpp"

#include <algorithm>

#include "elf/machine.hpp"
#include "elf/notes.hpp"
#include "support/text.hpp"

namespace sframe_gen::rewrite {

namespace {

/// The bytes of PT_GNU_RELRO are a PT_LOAD's. Recent lld counts padding in its file size that is in no file.
bool has_no_bytes_of_its_own(std::uint32_t segment_type) {
  return segment_type == PT_NULL || segment_type == PT_PHDR || segment_type == PT_GNU_RELRO ||
         segment_type == elf::segment_type_gnu_sframe;
}

bool holds_headers(const elf::Image& image, const Elf64_Phdr& segment) {
  const std::uint64_t table = image.header().e_phoff;
  return segment.p_offset == 0 || (segment.p_offset <= table && table < segment.p_offset + segment.p_filesz);
}

/// A linker script may put .bss in front of .data: its zeros are then in the file, though not by its own header.
Range bytes_under_space(const elf::Image& image, const Elf64_Shdr& space) {
  constexpr std::uint64_t kind = SHF_ALLOC | SHF_TLS;
  if ((space.sh_flags & kind) != SHF_ALLOC) return {};
  for (const Elf64_Phdr& segment : image.segments()) {
    if (segment.p_type != PT_LOAD) continue;
    const std::uint64_t begin = std::max<std::uint64_t>(space.sh_addr, segment.p_vaddr);
    const std::uint64_t end =
        std::min<std::uint64_t>(space.sh_addr + space.sh_size, segment.p_vaddr + segment.p_filesz);
    if (begin < end) return {segment.p_offset + (begin - segment.p_vaddr), segment.p_offset + (end - segment.p_vaddr)};
  }
  return {};
}

/// Section contents that are not loaded need no page, but their own alignment.
constexpr std::uint64_t unloaded_alignment = 64;

/// lld rounds PT_GNU_RELRO up to a page, beyond its PT_LOAD: what lies there changes its protection.
bool holds_addresses(const Elf64_Phdr& segment) {
  return segment.p_type == PT_LOAD || (segment.p_type == PT_GNU_RELRO && segment.p_memsz != 0);
}

}  // namespace

void OffsetMap::insert(Insertion insertion) {
  if (insertion.bytes == 0) return;
  const auto place = std::upper_bound(insertions_.begin(), insertions_.end(), insertion.at,
                                      [](std::uint64_t at, const Insertion& other) { return at < other.at; });
  insertions_.insert(place, insertion);
}

std::uint64_t OffsetMap::operator()(std::uint64_t offset) const {
  std::uint64_t shift = 0;
  for (const Insertion& insertion : insertions_) {
    if (insertion.at <= offset) shift += insertion.bytes;
  }
  return offset + shift;
}

Range file_bytes_under(const elf::Image& image, const elf::Section& section) {
  const Elf64_Shdr& header = section.header;
  if (header.sh_type == SHT_NOBITS) return bytes_under_space(image, header);
  return {header.sh_offset, header.sh_offset + image.bytes_of(section).size()};
}

FileSpace::FileSpace(const elf::Image& image) : image_(&image) {
  claims_.reserve(image.sections().size() + image.segments().size() + 3);
  claim({0, sizeof(Elf64_Ehdr)}, "the ELF header");
  claim(image.segment_table(), "the program headers");
  for (const elf::Section& section : image.sections()) claim(file_bytes_under(image, section), &section);
  for (const Elf64_Phdr& segment : image.segments()) {
    if (has_no_bytes_of_its_own(segment.p_type) || elf::is_stale_property(image, segment)) continue;
    if (segment.p_type == PT_LOAD && holds_headers(image, segment)) {
      header_segments_end_ = std::max(header_segments_end_, segment.p_offset + segment.p_filesz);
      continue;
    }
    claim(elf::file_range(segment), segment.p_type);
    if (segment.p_filesz != 0) claims_.back().is_load = segment.p_type == PT_LOAD;
  }
  claim(image.section_table(), "the section header table");
  std::stable_sort(claims_.begin(), claims_.end(),
                   [](const FileClaim& a, const FileClaim& b) { return a.range.begin < b.range.begin; });
}

void FileSpace::claim(Range range, elf::Owner owner) {
  if (!range.empty()) claims_.push_back({range, owner});
}

void FileSpace::release(Range range) {
  if (range.empty()) return;
  std::erase_if(claims_, [&](const FileClaim& claim) { return range.contains(claim.range); });
  for (FileClaim& claim : claims_) {
    if (claim.is_load && claim.range.overlaps(range) && claim.range.end <= range.end) claim.range.end = range.begin;
  }
  const auto place = std::upper_bound(released_.begin(), released_.end(), range,
                                      [](const Range& a, const Range& b) { return a.begin < b.begin; });
  released_.insert(place, range);
}

const FileClaim* FileSpace::next_claim(std::uint64_t offset) const {
  const auto found =
      std::find_if(claims_.begin(), claims_.end(), [&](const FileClaim& claim) { return claim.range.end > offset; });
  return found == claims_.end() ? nullptr : &*found;
}

const FileClaim* FileSpace::claim_across(std::uint64_t offset) const {
  const auto found = std::find_if(claims_.begin(), claims_.end(), [&](const FileClaim& claim) {
    return claim.range.begin < offset && offset < claim.range.end;
  });
  return found == claims_.end() ? nullptr : &*found;
}

template <typename Predicate>
bool FileSpace::all_are(Range range, Predicate predicate) const {
  const auto bytes = image_->file_bytes();
  const auto check = [&](std::uint64_t begin, std::uint64_t end) {
    end = std::min<std::uint64_t>(end, bytes.size());
    return begin >= end || std::all_of(bytes.begin() + static_cast<std::ptrdiff_t>(begin),
                                       bytes.begin() + static_cast<std::ptrdiff_t>(end), predicate);
  };
  for (const Range& free : released_) {
    if (!free.overlaps(range)) continue;
    if (!check(range.begin, free.begin)) return false;
    range.begin = std::max(range.begin, free.end);
  }
  return check(range.begin, range.end);
}

bool FileSpace::is_zero(Range range) const {
  return all_are(range, [](std::byte b) { return b == std::byte{0}; });
}

bool FileSpace::is_filler(Range range) const {
  return all_are(range, [](std::byte b) { return b == std::byte{0} || b == std::byte{'X'} || b == std::byte{'Z'}; });
}

std::uint64_t FileSpace::end() const {
  std::uint64_t end = header_segments_end_;
  for (const FileClaim& claim : claims_) end = std::max(end, claim.range.end);
  return end;
}

bool is_wasteful(std::uint64_t bytes, std::uint64_t needed) {
  return bytes >= std::uint64_t{1} << 20 && bytes / 2 > needed;
}

LoadGrowth::LoadGrowth(const elf::Image& image, std::string_view replaced)
    : image_(&image), segments_(image.segments()), replaced_(replaced), page_(elf::layout_page(image)) {
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
  const std::uint64_t address = elf::align_up(segment.p_vaddr + segment.p_memsz, alignment);
  const std::uint64_t limit = address_limit(load);
  if (address > limit || size > limit - address) return {};
  segment.p_filesz = segment.p_memsz = address + size - segment.p_vaddr;
  return address;
}

std::uint64_t LoadGrowth::address_limit(std::size_t load) const {
  const std::uint64_t end = segments_[load].p_vaddr + segments_[load].p_memsz;
  std::uint64_t limit = elf::largest_number;
  for (const Elf64_Phdr& other : segments_) {
    if (holds_addresses(other) && other.p_vaddr > segments_[load].p_vaddr)
      limit = std::min(limit, elf::align_down(other.p_vaddr, page_));
  }
  // An allocated section that no PT_LOAD covers keeps its addresses all the same; the old section does not.
  for (const elf::Section& section : image_->sections()) {
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
    if (const FileClaim* across = space.claim_across(end))
      return elf::describe(across->owner) + " reaches over the end of the PT_LOAD at " + hex(segments_[i].p_vaddr);
    const FileClaim* next = space.next_claim(end);
    std::uint64_t free = next == nullptr ? needed : std::min(needed, next->range.begin - end);
    // Unknown bytes stay in front of what follows. What a PT_LOAD gave up is free in any case.
    const std::uint64_t given_up = image_->segments()[i].p_offset + image_->segments()[i].p_filesz - end;
    if (!space.is_zero({end, end + free})) free = std::min(needed, given_up);
    if (free == needed) continue;
    const std::uint64_t at = end + free;
    const std::uint64_t bytes = elf::align_up(needed - free, insertion_unit(at));
    wastes = wastes || is_wasteful(bytes, needed);
    map.insert({at, bytes});
  }
  return {};
}

std::uint64_t LoadGrowth::address_above() const {
  std::uint64_t above = 0;
  for (const Elf64_Phdr& segment : segments_) {
    if (holds_addresses(segment)) above = std::max(above, elf::align_up(segment.p_vaddr + segment.p_memsz, page_));
  }
  return above;
}

}  // namespace sframe_gen::rewrite
