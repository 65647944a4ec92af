#include "files/file_pieces.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>

namespace sframe_gen::files {

/// Not from the heap: while another thread gets its first huge page there, which takes as long as eight pieces do, all
/// others wait.
FilePieces::Buffer::Buffer(std::size_t size)
    : place_(::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0)),
      size_(size) {
  if (place_ == MAP_FAILED) throw std::bad_alloc();
}

FilePieces::Buffer::~Buffer() {
  ::munmap(place_, size_);
}

/// Read, not mapped: to give 117 MB of pages to a process and to take them back takes 15 ms, which is longer than it
/// takes to copy them into a buffer that the processor's cache holds.
std::span<const std::byte> FilePieces::piece(std::uint64_t from, std::uint64_t wanted) {
  const std::size_t size = std::min<std::uint64_t>(wanted, most_);
  errno = 0;
  if (size == 0) return {};
  if (!buffer_ || buffer_->size() < size) buffer_.emplace(size);
  ssize_t done = 0;
  do {
    errno = 0;
    done = ::pread(descriptor_, buffer_->place(), size, static_cast<off_t>(from));
  } while (done < 0 && errno == EINTR);
  return {buffer_->place(), static_cast<std::size_t>(std::max<ssize_t>(done, 0))};
}

}  // namespace sframe_gen::files
