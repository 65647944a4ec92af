#include "files/file_pieces.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace sframe_gen::files {

/// Read, not mapped: to give 117 MB of pages to a process and to take them back takes 15 ms, which is longer than it
/// takes to copy them into a buffer that the processor's cache holds.
std::span<const std::byte> FilePieces::piece(std::uint64_t from, std::uint64_t wanted) {
  const std::size_t size = std::min<std::uint64_t>(wanted, most_);
  errno = 0;
  if (size == 0) return {};
  std::byte* const place = buffer_.with_room_for(size);
  ssize_t done = 0;
  do {
    errno = 0;
    done = ::pread(descriptor_, place, size, static_cast<off_t>(from));
  } while (done < 0 && errno == EINTR);
  return {place, static_cast<std::size_t>(std::max<ssize_t>(done, 0))};
}

}  // namespace sframe_gen::files
