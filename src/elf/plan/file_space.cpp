#include "elf/plan/file_space.hpp"

#include <algorithm>

#include "elf/machine.hpp"

namespace sframe_gen::elf {

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

namespace {

/// The bytes of PT_GNU_RELRO are a PT_LOAD's. Recent lld counts padding in its file size that is in no file.
bool has_no_bytes_of_its_own(std::uint32_t segment_type) {
  return segment_type == PT_NULL || segment_type == PT_PHDR || segment_type == PT_GNU_RELRO ||
         segment_type == segment_type_gnu_sframe;
}

bool holds_headers(const Image& image, const Elf64_Phdr& segment) {
  const std::uint64_t table = image.header().e_phoff;
  return segment.p_offset == 0 || (segment.p_offset <= table && table < segment.p_offset + segment.p_filesz);
}

/// A linker script may put .bss in front of .data: its zeros are then in the file, though not by its own header.
Range bytes_under_space(const Image& image, const Elf64_Shdr& space) {
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

}  // namespace

Range file_bytes_under(const Image& image, const Section& section) {
  const Elf64_Shdr& header = section.header;
  if (header.sh_type == SHT_NOBITS) return bytes_under_space(image, header);
  return {header.sh_offset, header.sh_offset + image.bytes_of(section).size()};
}

std::string owner_of(const Claim& claim) {
  if (const auto* const section = std::get_if<const Section*>(&claim.owner)) return describe(**section);
  if (const auto* const segment_type = std::get_if<std::uint32_t>(&claim.owner))
    return segment_type_name(*segment_type);
  return std::get<const char*>(claim.owner);
}

FileSpace::FileSpace(const Image& image) : image_(&image) {
  claims_.reserve(image.sections().size() + image.segments().size() + 3);
  claim(0, sizeof(Elf64_Ehdr), "the ELF header");
  claim(image.header().e_phoff, image.segments().size() * sizeof(Elf64_Phdr), "the program headers");
  for (const Section& section : image.sections()) {
    const Range bytes = file_bytes_under(image, section);
    claim(bytes.begin, bytes.size(), &section);
  }
  for (const Elf64_Phdr& segment : image.segments()) {
    if (has_no_bytes_of_its_own(segment.p_type)) continue;
    if (segment.p_type == PT_LOAD && holds_headers(image, segment)) {
      header_segments_end_ = std::max(header_segments_end_, segment.p_offset + segment.p_filesz);
      continue;
    }
    claim(segment.p_offset, segment.p_filesz, segment.p_type);
    if (segment.p_filesz != 0) claims_.back().is_load = segment.p_type == PT_LOAD;
  }
  const Range table = image.section_table();
  claim(table.begin, table.size(), "the section header table");
  std::stable_sort(claims_.begin(), claims_.end(),
                   [](const Claim& a, const Claim& b) { return a.range.begin < b.range.begin; });
}

void FileSpace::claim(std::uint64_t begin, std::uint64_t size, decltype(Claim::owner) owner) {
  if (size != 0) claims_.push_back({{begin, begin + size}, owner});
}

void FileSpace::release(Range range) {
  if (range.empty()) return;
  std::erase_if(claims_, [&](const Claim& claim) { return range.contains(claim.range); });
  for (Claim& claim : claims_) {
    if (claim.is_load && claim.range.overlaps(range) && claim.range.end <= range.end) claim.range.end = range.begin;
  }
  const auto place = std::upper_bound(released_.begin(), released_.end(), range,
                                      [](const Range& a, const Range& b) { return a.begin < b.begin; });
  released_.insert(place, range);
}

const Claim* FileSpace::next_claim(std::uint64_t offset) const {
  const auto found =
      std::find_if(claims_.begin(), claims_.end(), [&](const Claim& claim) { return claim.range.end > offset; });
  return found == claims_.end() ? nullptr : &*found;
}

const Claim* FileSpace::claim_across(std::uint64_t offset) const {
  const auto found = std::find_if(claims_.begin(), claims_.end(), [&](const Claim& claim) {
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
  for (const Claim& claim : claims_) end = std::max(end, claim.range.end);
  return end;
}

}  // namespace sframe_gen::elf
