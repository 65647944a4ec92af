#include "elf/edit/write_at_once.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <iterator>
#include <map>
#include <span>
#include <vector>

#include "elf/edit/list_writer.hpp"
#include "files/stored_range.hpp"
#include "sframe_gen/error.hpp"

namespace sframe_gen::elf {

namespace {

/// No file system stores less than a block of so many bytes: zeros of fewer take no more of the disk than a hole, where
/// bytes stand on both sides of them.
constexpr std::uint64_t smallest_hole = 512;
constexpr std::array<std::byte, smallest_hole> zeros{};

/// What stands where. What is put later lies over what is there.
class Pieces {
 public:
  void put(std::uint64_t begin, std::span<const std::byte> bytes) {
    if (bytes.empty()) return;
    const std::uint64_t end = begin + bytes.size();
    auto next = pieces_.lower_bound(begin);
    if (next != pieces_.begin() && end_of(*std::prev(next)) > begin) --next;
    while (next != pieces_.end() && next->first < end) {
      const auto [below_begin, below] = *next;
      next = pieces_.erase(next);
      if (below_begin < begin) pieces_.emplace(below_begin, below.first(begin - below_begin));
      if (below_begin + below.size() > end) pieces_.emplace(end, below.subspan(end - below_begin));
    }
    pieces_.emplace(begin, bytes);
  }

  const auto& in_order() const { return pieces_; }

 private:
  using Piece = std::pair<const std::uint64_t, std::span<const std::byte>>;
  static std::uint64_t end_of(const Piece& piece) { return piece.first + piece.second.size(); }

  std::map<std::uint64_t, std::span<const std::byte>> pieces_;
};

Pieces pieces_of(const FileImage& contents, std::span<const std::byte> input) {
  Pieces pieces;
  for (const Copy& copy : contents.copies) pieces.put(copy.to, input.subspan(copy.from, copy.size));
  for (const Patch& patch : contents.patches) pieces.put(patch.offset, patch.bytes);
  return pieces;
}

}  // namespace

bool can_be_written_at_once(const FileImage& contents, const MappedFile& input) {
  constexpr std::uint64_t most = 1 << 19;
  const std::uint64_t size = input.bytes().size();
  if (contents.size > most || size > most || contents.early_size != 0) return false;
  const bool is_there = std::ranges::all_of(
      contents.copies, [&](const Copy& copy) { return copy.from <= size && copy.size <= size - copy.from; });
  // Holes have to stay holes.
  const files::StoredRange stored = files::next_stored(input.descriptor(), 0, size);
  return is_there && stored.begin == 0 && stored.end == size;
}

void write_at_once(const FileImage& contents, const MappedFile& input, int output, const std::string& name) {
  const Pieces pieces = pieces_of(contents, input.bytes());
  ListWriter writer(output, name);
  for (const auto& [begin, bytes] : pieces.in_order()) {
    if (begin - writer.end() < smallest_hole) writer.add(writer.end(), std::span(zeros).first(begin - writer.end()));
    writer.add(begin, bytes);
  }
  writer.flush();
  if (writer.end() != contents.size && ::ftruncate(output, static_cast<off_t>(contents.size)) != 0)
    throw SystemFailure(name, "write", errno);
}

}  // namespace sframe_gen::elf
