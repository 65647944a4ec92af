#include "trace/walk/mapped_pieces.hpp"

#include <elf.h>

#include <algorithm>
#include <iterator>

namespace sframe_gen::trace {

namespace {

/// Real files have one or two. Each of a recording's mappings takes room for as many.
constexpr std::size_t most_pieces = 16;

/// PT_LOADs with any of these rights' bits that the mapping holds a part of, as they follow each other in the file.
std::vector<Elf64_Phdr> segments_in(const Mapping& mapping, const elf::Image& image, std::uint32_t rights) {
  const std::uint64_t begin = mapping.file_offset, end = begin + (mapping.end - mapping.begin);
  std::vector<Elf64_Phdr> found;
  std::ranges::copy_if(image.segments(), std::back_inserter(found), [&](const Elf64_Phdr& segment) {
    return segment.p_type == PT_LOAD && (segment.p_flags & rights) == rights && segment.p_offset < end &&
           segment.p_offset + segment.p_filesz > begin;
  });
  std::ranges::stable_sort(found, {}, &Elf64_Phdr::p_offset);
  return found;
}

}  // namespace

std::vector<MappedPiece> pieces_of(const Mapping& mapping, const elf::Image& image) {
  std::vector<Elf64_Phdr> segments = segments_in(mapping, image, PF_X);
  if (segments.empty()) segments = segments_in(mapping, image, 0);
  std::vector<MappedPiece> pieces;
  for (const Elf64_Phdr& segment : segments) {
    const std::uint64_t bias = mapping.begin - (segment.p_vaddr - segment.p_offset + mapping.file_offset);
    if (!pieces.empty() && pieces.back().bias == bias) continue;
    // The first one has what is in front of it, too, and each what is behind it.
    const std::uint64_t begin =
        pieces.empty() ? mapping.begin : mapping.begin + (segment.p_offset - mapping.file_offset);
    if (!pieces.empty() && (segment.p_offset <= mapping.file_offset || begin == pieces.back().begin)) continue;
    if (!pieces.empty()) pieces.back().end = begin;
    pieces.push_back({begin, mapping.end, bias});
  }
  return pieces.size() <= most_pieces ? pieces : std::vector<MappedPiece>();
}

}  // namespace sframe_gen::trace
