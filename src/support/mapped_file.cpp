#include "support/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "sframe_gen/error.hpp"
#include "support/cut_files.hpp"

namespace sframe_gen {

void drop_pages(const MappedFile& file) {
  // A smaller one's pages are fewer than those of the program itself, and the call interrupts all threads.
  constexpr std::size_t worth_it = 16 << 20;
  const auto bytes = file.bytes();
  // Nothing was ever written to the mapping, so nothing is lost.
  if (bytes.size() >= worth_it) ::madvise(const_cast<std::byte*>(bytes.data()), bytes.size(), MADV_DONTNEED);
}

MappedFile::MappedFile(const std::filesystem::path& path) : name_(path.string()) {
  // O_NONBLOCK: opening a FIFO by mistake must not hang.
  file_ = Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file_.is_open()) throw SystemFailure(name_, "open", errno);
  map();
}

MappedFile::MappedFile(int descriptor, std::string name)
    : name_(std::move(name)), file_(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0)) {
  if (!file_.is_open()) throw SystemFailure(name_, "open", errno);
  map();
}

void MappedFile::map() {
  struct stat status {};
  if (::fstat(descriptor(), &status) != 0) throw SystemFailure(name_, "read", errno);
  if (!S_ISREG(status.st_mode)) throw Refused(name_, "not a regular file");
  identity_ = FileIdentity(status);
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return;
  void* const address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor(), 0);
  if (address == MAP_FAILED) throw SystemFailure(name_, "map", errno);
  bytes_ = {static_cast<const std::byte*>(address), size};
  note_mapped(bytes_);
}

MappedFile::~MappedFile() {
  if (bytes_.empty()) return;
  forget_mapped(bytes_);
  ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : name_(std::move(other.name_)),
      bytes_(std::exchange(other.bytes_, {})),
      file_(std::move(other.file_)),
      identity_(other.identity_) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(name_, other.name_);
  std::swap(bytes_, other.bytes_);
  std::swap(file_, other.file_);
  std::swap(identity_, other.identity_);
  return *this;
}

}  // namespace sframe_gen
