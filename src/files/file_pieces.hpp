#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sframe_gen::files {

/// Bytes [begin, end) of a file that are stored on its disk; what is in front of them is a hole, and reads as zeros.
struct StoredRange {
  std::uint64_t begin = 0, end = 0;
};

/// The first ones in [from, to) of an open file. begin = end = to: there are none. File systems without holes store
/// all.
StoredRange next_stored(int descriptor, std::uint64_t from, std::uint64_t to);

/// Memory for the pieces of one pass over a file, and of the next. What a buffer had is left to the next one: to give
/// memory back makes every processor that runs a thread of the program look up its pages anew, and the program wait for
/// it. So as much stays until the end as was in use at once.
class PieceBuffer {
 public:
  PieceBuffer() = default;
  ~PieceBuffer();
  PieceBuffer(const PieceBuffer&) = delete;
  PieceBuffer& operator=(const PieceBuffer&) = delete;

  /// At least `size` bytes, until the next call. Throws std::bad_alloc.
  std::byte* with_room_for(std::size_t size);

 private:
  class Memory;

  Memory* memory_ = nullptr;
};

/// An open file's bytes for one pass over many of them, in memory that is used again for each piece.
class FilePieces {
 public:
  /// As many as stay in a processor's own cache for whoever looks at them next: in little memory, as the first use of a
  /// page takes longer than to read what it holds; or as much as a write wants at once, since the file system makes
  /// folios as large as what it gets.
  static constexpr std::size_t for_a_look = std::size_t{1} << 15, for_a_write = std::size_t{1} << 18;

  /// `buffer` must outlive it, and holds no more than one piece of one file at a time.
  FilePieces(int descriptor, PieceBuffer& buffer, std::size_t most = for_a_look)
      : descriptor_(descriptor), buffer_(buffer), most_(most) {}

  /// The bytes from `from` on, at most `wanted`, until the next call. None: there are none (then errno is 0), or they
  /// cannot be read, as errno says.
  std::span<const std::byte> piece(std::uint64_t from, std::uint64_t wanted);

 private:
  int descriptor_;
  PieceBuffer& buffer_;
  std::size_t most_;
};

}  // namespace sframe_gen::files
