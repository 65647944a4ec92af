#include "support/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "sframe_gen/error.hpp"

namespace sframe_gen {

void let_go(const MappedFile& file) {
  // A smaller one's pages are fewer than those of the program itself, and the call interrupts all threads.
  constexpr std::size_t worth_it = 16 << 20;
  if (file.bytes().size() >= worth_it) let_go(file, 0, file.bytes().size());
}

void let_go(const MappedFile& file, std::uint64_t begin, std::uint64_t end) {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const auto bytes = file.bytes();
  const std::uint64_t first = (begin + page - 1) / page * page;
  // The last page of a file may be one in part.
  const std::uint64_t last = end == bytes.size() ? end : end / page * page;
  if (first >= last) return;
  // Nothing was ever written to the mapping, so nothing is lost.
  ::madvise(const_cast<std::byte*>(bytes.data()) + first, last - first, MADV_DONTNEED);
}

MappedFile::MappedFile(const std::filesystem::path& path) : name_(path.string()) {
  // O_NONBLOCK: opening a FIFO by mistake must not hang.
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) throw SystemFailure(name_, "open", errno);
  map();
}

MappedFile::MappedFile(int descriptor, std::string name)
    : name_(std::move(name)), descriptor_(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0)) {
  if (descriptor_ < 0) throw SystemFailure(name_, "open", errno);
  map();
}

void MappedFile::map() {
  struct stat status {};
  const bool known = ::fstat(descriptor_, &status) == 0;
  const int error_number = errno;
  if (!known || !S_ISREG(status.st_mode)) {
    ::close(std::exchange(descriptor_, -1));
    if (!known) throw SystemFailure(name_, "read", error_number);
    throw Refused(name_, "is not a regular file");
  }
  identity_ = FileIdentity(status);
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return;
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor_, 0);
  if (address == MAP_FAILED) {
    const int map_error = errno;
    ::close(std::exchange(descriptor_, -1));
    throw SystemFailure(name_, "map", map_error);
  }
  bytes_ = {static_cast<const std::byte*>(address), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  if (descriptor_ >= 0) ::close(descriptor_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : name_(std::move(other.name_)),
      bytes_(std::exchange(other.bytes_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)),
      identity_(other.identity_) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(name_, other.name_);
  std::swap(bytes_, other.bytes_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(identity_, other.identity_);
  return *this;
}

}  // namespace sframe_gen
