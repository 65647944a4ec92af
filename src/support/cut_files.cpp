#include "support/cut_files.hpp"

#include <sys/mman.h>

#include <atomic>
#include <csignal>
#include <map>
#include <mutex>

#include "sframe_gen/error.hpp"

namespace sframe_gen {

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
