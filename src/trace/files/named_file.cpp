#include "trace/files/named_file.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "support/text.hpp"

namespace sframe_gen::trace {

namespace {

using Time = std::chrono::steady_clock::time_point;

/// The device of some file systems (overlay, btrfs) is one for mappings and another one for stat(). Both have the major
/// number 0, or one of them.
bool is_wanted(const struct stat& status, const NamedFile& file) {
  const bool same_device = status.st_dev == file.device || major(status.st_dev) == 0 || major(file.device) == 0;
  return file.inode == 0 || (status.st_ino == file.inode && same_device);
}

/// The owner stays, by which others tell whose names it has. The copies of all files are 1 GiB at most.
Descriptor copied(const Descriptor& file, const struct stat& status, Time until) {
  constexpr std::size_t most = std::size_t{1} << 30U;
  static std::atomic<std::size_t> all = 0;
  Descriptor copy(::memfd_create("copy", MFD_CLOEXEC));
  std::vector<std::byte> bytes(std::size_t{1} << 16U);
  std::size_t done = 0;
  while (std::chrono::steady_clock::now() < until) {
    const ssize_t count = ::read(file.number(), bytes.data(), bytes.size());
    if (count == 0) {
      // Where this is not allowed, the copy is this user's, as everything is that the user may read.
      static_cast<void>(::fchown(copy.number(), status.st_uid, status.st_gid) != 0);
      return copy;
    }
    const auto size = static_cast<std::size_t>(count);
    if (count < 0) break;
    done += size;
    if (all.fetch_add(size) + size > most || ::write(copy.number(), bytes.data(), size) != count) break;
  }
  all -= done;
  return Descriptor();
}

/// A path only: to open a device does something, and others choose what names lead to.
int flags_to_look(const NamedFile& file) {
  return O_PATH | O_CLOEXEC | (file.may_be_link ? 0 : O_NOFOLLOW);
}

Descriptor look(const std::string& path, const NamedFile& file) {
  return Descriptor(::open(path.c_str(), flags_to_look(file)));  // NOLINT(cppcoreguidelines-pro-type-vararg)
}

/// Not open: errno says why.
Descriptor look_below(int directory, const NamedFile& file) {
  open_how how{};
  how.flags = static_cast<unsigned>(flags_to_look(file));
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  // EAGAIN: anything was renamed or mounted on this system while the kernel followed a "..", so it could not be sure.
  constexpr int most_attempts = 100;
  for (int attempt = 1;; ++attempt) {
    Descriptor opened(static_cast<int>(::syscall(SYS_openat2, directory, file.path.c_str(), &how, sizeof how)));
    if (opened.is_open() || errno != EAGAIN || attempt == most_attempts) return opened;
  }
}

/// By the process's own view of the file system. Links that begin at the root begin at the process's.
Descriptor look_in_process(const NamedFile& file) {
  const std::string root = "/proc/" + std::to_string(file.process) + "/root";
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg)
  const Descriptor directory(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory.is_open()) return Descriptor();
  Descriptor place = look_below(directory.number(), file);
  // Before Linux 5.6, and where a container forbids the call.
  const bool cannot = !place.is_open() && (errno == ENOSYS || errno == EPERM);
  return cannot ? look(root + file.path, file) : std::move(place);
}

/// The device of a mount, in a process's list of them: "36 35 98:0 /mnt1 /mnt2 rw,noatime ...". Empty: it has none of
/// that number.
std::string device_of_mount(const std::string& process, std::uint64_t mount) {
  std::ifstream mounts("/proc/" + process + "/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::uint64_t number = 0, parent = 0;
    std::string device;
    if (words >> number >> parent >> device && number == mount) return device;
  }
  return {};
}

bool has_mount_of(const std::string& device) {
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);)
    if (line.find(' ' + device + ' ') != std::string::npos) return true;
  return false;
}

/// Whether a file is of an overlay that is not mounted here as well, as those of root's containers are. Any user can
/// put one over a file system of a program (FUSE), for which it then waits.
bool is_of_others_overlay(const Descriptor& file, const NamedFile& named) {
  struct statx status {};
  ::statx(file.number(), "", AT_EMPTY_PATH, STATX_MNT_ID, &status);
  // Linux before 5.8, where only root can mount overlays.
  if ((status.stx_mask & STATX_MNT_ID) == 0) return false;
  if (!device_of_mount("self", status.stx_mnt_id).empty()) return false;
  const std::string device = device_of_mount(std::to_string(named.process), status.stx_mnt_id);
  return device.empty() || !has_mount_of(device);
}

/// Whether reading a page of it may take for ever.
bool may_hang(const Descriptor& file, const NamedFile& named) {
  struct statfs system {};
  if (::fstatfs(file.number(), &system) != 0 || system.f_type == FUSE_SUPER_MAGIC) return true;
  return system.f_type == OVERLAYFS_SUPER_MAGIC && is_of_others_overlay(file, named);
}

/// Opens what `place` is, if it is as it is wanted.
OpenFile opened(const Descriptor& place, const NamedFile& file, Time until) {
  OpenFile opened;
  if (!place.is_open() || ::fstat(place.number(), &opened.status) != 0) {
    opened.error = errno;
    return opened;
  }
  opened.error = !S_ISREG(opened.status.st_mode) ? OpenFile::not_regular : is_wanted(opened.status, file) ? 0 : ENOENT;
  if (opened.error != 0) return opened;
  const std::string known = "/proc/self/fd/" + std::to_string(place.number());
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg)
  Descriptor readable(::open(known.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!readable.is_open()) {
    opened.error = errno;
    return opened;
  }
  opened.file = may_hang(readable, file) ? copied(readable, opened.status, until) : std::move(readable);
  if (!opened.file.is_open()) opened.error = OpenFile::no_answer;
  return opened;
}

}  // namespace

OpenFile open_named_file(const NamedFile& file, int root, Time until) {
  if (file.process == 0) return opened(root < 0 ? look(file.path, file) : look_below(root, file), file, until);
  OpenFile found{.error = ENOENT};
  if (file.begin != file.end) {
    // The kernel's own link leads to the file whatever its name leads to now.
    std::string place = "/proc/" + std::to_string(file.process) + "/map_files/";
    place.append(hex(file.begin), 2).append("-").append(hex(file.end), 2);
    found = opened(look(place, file), file, until);
    if (found.error == 0 || file.path.empty()) return found;
  }
  found = opened(look_in_process(file), file, until);
  // Of a program that has ended: the number tells that it is the file.
  if (found.error != 0 && file.inode != 0) found = opened(look(file.path, file), file, until);
  return found;
}

}  // namespace sframe_gen::trace
