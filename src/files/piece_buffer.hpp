#pragma once

#include <cstddef>

namespace sframe_gen::files {

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

}  // namespace sframe_gen::files
