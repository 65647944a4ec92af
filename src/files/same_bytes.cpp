#include "files/same_bytes.hpp"

#include <algorithm>
#include <cstddef>
#include <span>

#include "files/file_pieces.hpp"
#include "files/stored_range.hpp"
#include "support/equal_bytes.hpp"

namespace sframe_gen::files {

namespace {

bool are_zeros(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

class Comparison {
 public:
  Comparison(FilePlace a, FilePlace b)
      : a_(a), b_(b), pieces_of_a_(a.descriptor, buffer_of_a_), pieces_of_b_(b.descriptor, buffer_of_b_) {}

  bool run(std::uint64_t size) {
    for (std::uint64_t at = 0; at < size;) {
      const StoredRange stored = next_stored(a_.descriptor, a_.offset + at, a_.offset + size);
      const std::uint64_t begin = stored.begin - a_.offset, end = stored.end - a_.offset;
      if (!b_has_zeros(at, begin) || !same(begin, end)) return false;
      at = end;
    }
    return true;
  }

 private:
  /// Where a has a hole.
  bool b_has_zeros(std::uint64_t at, std::uint64_t end) {
    while (at < end) {
      const StoredRange stored = next_stored(b_.descriptor, b_.offset + at, b_.offset + end);
      for (at = stored.begin - b_.offset; at < stored.end - b_.offset;) {
        const auto piece = pieces_of_b_.piece(b_.offset + at, stored.end - b_.offset - at);
        if (piece.empty() || !are_zeros(piece)) return false;
        at += piece.size();
      }
    }
    return true;
  }

  bool same(std::uint64_t at, std::uint64_t end) {
    while (at < end) {
      const auto of_a = pieces_of_a_.piece(a_.offset + at, end - at);
      const auto of_b = pieces_of_b_.piece(b_.offset + at, end - at);
      const std::size_t size = std::min(of_a.size(), of_b.size());
      if (size == 0 || !equal_bytes(of_a.first(size), of_b.first(size))) return false;
      at += size;
    }
    return true;
  }

  FilePlace a_, b_;
  PieceBuffer buffer_of_a_, buffer_of_b_;
  FilePieces pieces_of_a_, pieces_of_b_;
};

}  // namespace

bool have_same_bytes(FilePlace a, FilePlace b, std::uint64_t size) {
  return Comparison(a, b).run(size);
}

}  // namespace sframe_gen::files
