#include "trace/walk/address_space.hpp"

#include <elf.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <utility>

#include "support/text.hpp"

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
    // The first one has what is in front of it, too, and each what is after it.
    const std::uint64_t begin =
        pieces.empty() ? mapping.begin : mapping.begin + (segment.p_offset - mapping.file_offset);
    if (!pieces.empty() && (segment.p_offset <= mapping.file_offset || begin == pieces.back().begin)) continue;
    if (!pieces.empty()) pieces.back().end = begin;
    pieces.push_back({begin, mapping.end, bias});
  }
  return pieces.size() <= most_pieces ? pieces : std::vector<MappedPiece>();
}

/// From 1 on.
std::uint64_t AddressSpace::Version::next() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

AddressSpace::AddressSpace(const std::vector<Mapping>& executable, OpenFile open_file,
                           std::shared_ptr<Locations> locations)
    : open_file_(std::move(open_file)), locations_(std::move(locations)) {
  for (const Mapping& mapping : executable) add(mapping);
}

/// `part` with what is left of it between two addresses.
void AddressSpace::put(Part part, std::uint64_t begin, std::uint64_t end) {
  part.mapping.file_offset += begin - part.mapping.begin;
  part.mapping.begin = part.module.begin = begin;
  part.mapping.end = part.module.end = end;
  parts_.insert_or_assign(begin, std::move(part));
}

void AddressSpace::add(const Mapping& mapping) {
  if (mapping.begin >= mapping.end) return;
  auto next = parts_.upper_bound(mapping.begin);
  if (next != parts_.begin() && std::prev(next)->second.mapping.end > mapping.begin) --next;
  while (next != parts_.end() && next->first < mapping.end) {
    const Part old = std::move(next->second);
    next = parts_.erase(next);
    version_ = {};
    if (old.mapping.begin < mapping.begin) put(old, old.mapping.begin, mapping.begin);
    if (old.mapping.end > mapping.end) put(old, mapping.end, old.mapping.end);
  }
  Part part;
  part.mapping = mapping;
  part.module = {.begin = mapping.begin, .end = mapping.end};
  parts_.insert_or_assign(mapping.begin, std::move(part));
}

AddressSpace::Parts::iterator AddressSpace::part_at(std::uint64_t pc) {
  auto behind = parts_.upper_bound(pc);
  if (behind == parts_.begin()) return parts_.end();
  --behind;
  return pc < behind->second.mapping.end ? behind : parts_.end();
}

const unwind::Module* AddressSpace::module_at(std::uint64_t pc) const {
  const auto behind = parts_.upper_bound(pc);
  if (behind == parts_.begin()) return nullptr;
  const Part& part = std::prev(behind)->second;
  return pc < part.mapping.end ? &part.module : nullptr;
}

void AddressSpace::open(Part& part) {
  const Mapping& mapping = part.mapping;
  OpenedFile opened = open_file_(mapping);
  std::vector<MappedPiece> pieces;
  if (opened.file) pieces = pieces_of(mapping, opened.file->image());
  if (opened.file && pieces.empty()) opened = {nullptr, "not the file that was mapped"};
  if (pieces.empty()) pieces = {{mapping.begin, mapping.end, mapping.begin - mapping.file_offset}};
  // The first piece takes the part's own place: its module may be known already.
  const Part whole = part;
  for (const MappedPiece& piece : pieces) {
    Part of_piece = whole;
    of_piece.location = &locations_->emplace_back(Location{printable(whole.mapping.path), opened, piece.bias});
    put(std::move(of_piece), piece.begin, piece.end);
  }
}

/// The part that holds `pc`, its file opened.
AddressSpace::Parts::iterator AddressSpace::opened_at(std::uint64_t pc) {
  const auto found = part_at(pc);
  if (found == parts_.end() || found->second.location != nullptr) return found;
  open(found->second);
  return part_at(pc);
}

const Location* AddressSpace::location_of(std::uint64_t pc) {
  const auto found = opened_at(pc);
  return found == parts_.end() ? nullptr : found->second.location;
}

bool AddressSpace::find_rows(std::uint64_t pc) {
  const auto found = opened_at(pc);
  if (found == parts_.end()) return false;
  Part& part = found->second;
  const Location& location = *part.location;
  if (!location.opened.file || part.has_more_rows) return false;
  CodeFile& file = *location.opened.file;
  part.has_more_rows = part.has_rows;
  part.has_rows = true;
  const sframe::SectionView* const rows = part.has_more_rows ? file.more_rows() : file.rows();
  if (rows == nullptr || rows == part.module.view) return false;
  part.module.view = rows;
  part.module.bias = location.bias;
  return true;
}

void AddressSpace::find_all_rows() {
  for (auto& [begin, part] : parts_) {
    if (part.module.view == nullptr) find_rows(begin);
  }
}

}  // namespace sframe_gen::trace
