#include "files/file_pieces.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>

namespace sframe_gen::files {

namespace {

#ifndef MADV_POPULATE_READ
constexpr int MADV_POPULATE_READ = 22;  // Linux 5.14; older headers lack it
#endif

/// To let pages go interrupts the program's other threads, whatever their number: where these are busy, copying takes
/// 0.92 times as long with 8 MB at once as with 2 MB. What is held counts as the program's memory, of which a large
/// file takes more anyway.
std::uint64_t held_at_once(std::uint64_t size) {
  constexpr std::uint64_t least = std::uint64_t{1} << 21, most = std::uint64_t{1} << 23;
  return std::clamp(std::bit_floor(size / 12), least, most);
}

std::size_t size_of(int descriptor) {
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 ? static_cast<std::size_t>(status.st_size) : 0;
}

}  // namespace

FilePieces::FilePieces(int descriptor, For use) : descriptor_(descriptor), use_(use) {
  const std::size_t size = size_of(descriptor);
  // To read so little takes less time than to map it.
  void* const address = size <= most ? MAP_FAILED : ::mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
  if (address == MAP_FAILED) return;
  mapping_ = {static_cast<std::byte*>(address), size};
  // Reads ahead as for read(), and leaves it to others to say which pages are worth keeping.
  ::madvise(address, size, MADV_SEQUENTIAL);
}

FilePieces::~FilePieces() {
  if (!mapping_.empty()) ::munmap(mapping_.data(), mapping_.size());
}

std::span<const std::byte> FilePieces::piece(std::uint64_t from, std::uint64_t wanted) {
  const std::size_t size = std::min<std::uint64_t>(wanted, most);
  const bool is_held = (held_begin_ <= from && from < held_end_) || hold(from, wanted);
  if (!is_held) return read(from, size);
  return mapping_.subspan(from, std::min<std::uint64_t>(size, held_end_ - from));
}

/// Not where read() has to tell what there is.
bool FilePieces::hold(std::uint64_t from, std::uint64_t wanted) {
  let_go();
  if (from >= mapping_.size()) return false;
  static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t begin = from - from % page;
  const std::uint64_t end = from + std::min({wanted, held_at_once(mapping_.size()), mapping_.size() - from});
  if (!make_readable(begin, end)) return false;
  held_begin_ = begin;
  held_end_ = end;
  return true;
}

/// The pages are asked for together, and by a call that fails where a look at them would end the program: the file may
/// have become shorter. For a system call it is enough to ask for one page in 64 KB: Linux brings what it has of the
/// others with it, in two thirds of the time, and the call asks for the rest by itself.
bool FilePieces::make_readable(std::uint64_t begin, std::uint64_t end) const {
  constexpr std::uintptr_t around = 1 << 16;  // the kernel's fault_around_bytes, unless somebody changes it
  const auto ask = [&](std::uint64_t from, std::uint64_t to) {
    return ::madvise(mapping_.data() + from, to - from, MADV_POPULATE_READ) == 0;
  };
  if (use_ == For::Looking) return ask(begin, end);
  while (begin < end) {
    if (!ask(begin, begin + 1)) return false;
    const auto address = reinterpret_cast<std::uintptr_t>(mapping_.data() + begin);
    begin += around - address % around;
  }
  return true;
}

void FilePieces::let_go() {
  if (held_end_ != 0) ::madvise(mapping_.data() + held_begin_, held_end_ - held_begin_, MADV_DONTNEED);
  held_begin_ = held_end_ = 0;
}

/// The first use of a page of memory takes longer than to read what it holds: where no write wants much at once, few
/// pages are used again.
std::span<const std::byte> FilePieces::read(std::uint64_t from, std::size_t size) {
  constexpr std::size_t few_pages = std::size_t{1} << 14;
  if (use_ == For::Looking) size = std::min(size, few_pages);
  buffer_.resize(std::max(buffer_.size(), size));
  ssize_t done = 0;
  do {
    errno = 0;
    done = ::pread(descriptor_, buffer_.data(), size, static_cast<off_t>(from));
  } while (done < 0 && errno == EINTR);
  return std::span<const std::byte>(buffer_).first(static_cast<std::size_t>(std::max<ssize_t>(done, 0)));
}

}  // namespace sframe_gen::files
