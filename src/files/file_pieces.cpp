#include "files/file_pieces.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <new>
#include <utility>

namespace sframe_gen::files {

StoredRange next_stored(int descriptor, std::uint64_t from, std::uint64_t to) {
  const off_t data = ::lseek(descriptor, static_cast<off_t>(from), SEEK_DATA);
  // Behind the last data. Any other error, EINVAL for one, is of a file system that does not tell holes apart.
  if (data < 0 && errno == ENXIO) return {to, to};
  if (data < 0) return {from, to};
  const off_t hole = ::lseek(descriptor, data, SEEK_HOLE);
  return {std::min(static_cast<std::uint64_t>(data), to),
          hole < 0 ? to : std::min(static_cast<std::uint64_t>(hole), to)};
}

/// Says at its own start what it is.
class PieceBuffer::Memory {
 public:
  /// Not from the heap: while another thread gets its first huge page there, which takes as long as eight pieces do,
  /// all others wait.
  static Memory* map(std::size_t room) {
    const std::size_t size = sizeof(Memory) + room;
    void* const place =
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (place == MAP_FAILED) throw std::bad_alloc();
    return new (place) Memory(size);
  }

  static void unmap(Memory* memory) { ::munmap(memory, memory->size_); }

  /// Null: there is none.
  static Memory* take_left_over() {
    const std::lock_guard lock(mutex);
    return left_over == nullptr ? nullptr : std::exchange(left_over, left_over->next_);
  }

  static void leave(Memory* memory) {
    const std::lock_guard lock(mutex);
    memory->next_ = std::exchange(left_over, memory);
  }

  std::byte* begin() { return reinterpret_cast<std::byte*>(this + 1); }
  std::size_t room() const { return size_ - sizeof(Memory); }

 private:
  explicit Memory(std::size_t size) : size_(size) {}

  static inline constinit std::mutex mutex;
  static inline Memory* left_over = nullptr;

  alignas(64) std::size_t size_;  // as a processor copies best
  Memory* next_ = nullptr;        ///< of those that are left over
};

PieceBuffer::~PieceBuffer() {
  if (memory_ != nullptr) Memory::leave(memory_);
}

std::byte* PieceBuffer::with_room_for(std::size_t size) {
  if (memory_ == nullptr) memory_ = Memory::take_left_over();
  if (memory_ != nullptr && memory_->room() < size) Memory::unmap(std::exchange(memory_, nullptr));
  if (memory_ == nullptr) memory_ = Memory::map(size);
  return memory_->begin();
}

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
