#include "support/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <map>
#include <mutex>

#include "sframe_gen/error.hpp"

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

namespace {

struct Mapped {
  std::size_t size = 0;
  bool was_cut = false;
};

/// By where they begin. Nothing reads a mapped file while it holds the lock, so a thread whose read raised the signal
/// may take it.
struct MappedFiles {
  std::mutex lock;
  std::map<const std::byte*, Mapped> files;
};

/// Never destroyed: what is mapped may be unmapped after main().
MappedFiles& mapped_files() {
  static auto& all = *new MappedFiles;
  return all;
}

std::atomic<bool> any_was_cut = false;
struct sigaction handler_before {};

/// All of the file, as a signal for each page would take long, and each page a mapping of its own.
bool make_zeros(const std::byte* address) {
  MappedFiles& all = mapped_files();
  const std::lock_guard guard(all.lock);
  auto file = all.files.upper_bound(address);
  if (file == all.files.begin()) return false;
  --file;
  auto& [begin, mapped] = *file;
  if (static_cast<std::size_t>(address - begin) >= mapped.size) return false;
  void* const place = const_cast<std::byte*>(begin);
  if (::mmap(place, mapped.size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) return false;
  mapped.was_cut = any_was_cut = true;
  return true;
}

void handle(int /*signal*/, siginfo_t* info, void* /*context*/) {
  if (info->si_code == BUS_ADRERR && make_zeros(static_cast<const std::byte*>(info->si_addr))) return;
  // The read is tried again, and raises the signal again. One that was sent is sent again.
  ::sigaction(SIGBUS, &handler_before, nullptr);
  if (info->si_code <= 0) ::raise(SIGBUS);
}

}  // namespace

void read_cut_files_as_zeros() {
  struct sigaction action {};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &action, &handler_before);
}

bool was_cut(std::span<const std::byte> file) {
  if (!any_was_cut) return false;
  MappedFiles& all = mapped_files();
  const std::lock_guard guard(all.lock);
  const auto found = all.files.find(file.data());
  return found != all.files.end() && found->second.was_cut;
}

void check_is_whole(std::span<const std::byte> file, const std::string& name) {
  if (was_cut(file)) throw Refused(name, "was cut short, or its disk failed, while it was read");
}

void note_mapped(std::span<const std::byte> file) {
  MappedFiles& all = mapped_files();
  const std::lock_guard guard(all.lock);
  all.files[file.data()] = {file.size()};
}

void forget_mapped(std::span<const std::byte> file) {
  MappedFiles& all = mapped_files();
  const std::lock_guard guard(all.lock);
  all.files.erase(file.data());
}

}  // namespace sframe_gen
