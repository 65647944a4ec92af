#include "trace/walk/file_root.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include "sframe_gen/error.hpp"

namespace sframe_gen::trace {

namespace {

/// Not open: errno says why.
Descriptor open_below(int directory, const std::filesystem::path& path, std::uint64_t flags) {
  open_how how{};
  how.flags = flags | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  // EAGAIN: anything was renamed or mounted on this system while the kernel followed a "..", so it could not be sure.
  constexpr int most_attempts = 100;
  for (int attempt = 1;; ++attempt) {
    Descriptor opened(static_cast<int>(::syscall(SYS_openat2, directory, path.c_str(), &how, sizeof how)));
    if (opened.is_open() || errno != EAGAIN || attempt == most_attempts) return opened;
  }
}

}  // namespace

FileRoot::FileRoot(std::filesystem::path directory)
    : name_(std::move(directory)), directory_(::open(name_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {
  if (!directory_.is_open()) throw SystemFailure(name_.string(), "open", errno);
  if (!open_below(directory_.number(), ".", O_PATH).is_open()) {
    throw SystemFailure(name_.string(), "be the --root without openat2() (Linux 5.6; a container may forbid it)",
                        errno);
  }
}

elf::Image FileRoot::open(const std::filesystem::path& path) const {
  const std::filesystem::path full = name_ / path.relative_path();
  if (!directory_.is_open()) return elf::Image::open(full);
  // O_NONBLOCK: opening a FIFO must not hang.
  const Descriptor file = open_below(directory_.number(), path, O_RDONLY | O_NONBLOCK);
  if (!file.is_open()) throw SystemFailure(full.string(), "open", errno);
  return elf::Image::open(file.number(), full.string());
}

Descriptor FileRoot::open_text(const std::filesystem::path& path) const {
  constexpr int flags = O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY;
  if (directory_.is_open()) return open_below(directory_.number(), path, flags);
  return Descriptor(::open(path.c_str(), flags | O_CLOEXEC));  // NOLINT(cppcoreguidelines-pro-type-vararg)
}

}  // namespace sframe_gen::trace
