#include "trace/walk/file_root.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <string>
#include <system_error>
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

/// Where the kernel has the open file. Empty: it cannot be told.
std::filesystem::path place_of(int descriptor) {
  std::error_code error;
  std::filesystem::path place = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(descriptor), error);
  return error ? std::filesystem::path() : place;
}

/// Empty: the path leads elsewhere.
std::filesystem::path below(const std::filesystem::path& root, const std::filesystem::path& path) {
  const auto [in_root, in_path] = std::mismatch(root.begin(), root.end(), path.begin(), path.end());
  // "/a/" ends with an empty part.
  if (in_root != root.end() && !in_root->empty()) return {};
  std::filesystem::path rest = "/";
  for (auto part = in_path; part != path.end(); ++part) rest /= *part;
  return rest;
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

std::vector<std::filesystem::path> FileRoot::names_of(const elf::Image& image) const {
  std::vector<std::filesystem::path> names;
  const auto add = [&](const std::filesystem::path& name) {
    if (name.is_absolute() && std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  const std::filesystem::path given = image.name();
  const std::filesystem::path given_below = directory_.is_open() ? below(name_, given) : given;
  add(given_below.empty() ? given : given_below);
  if (!image.is_file()) return names;
  const std::filesystem::path place = place_of(image.descriptor());
  add(directory_.is_open() ? below(place_of(directory_.number()), place) : place);
  return names;
}

}  // namespace sframe_gen::trace
