#include "files/atomic_file.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "files/regions.hpp"
#include "sframe_gen/error.hpp"

namespace sframe_gen::files {

namespace {

constexpr const char* access_list = "system.posix_acl_access";
constexpr int most_links = 40;  // as the kernel follows

/// /dev/stdout links to /proc/self/fd/1, and that to a pipe, which nothing can replace, or to a file in use.
bool is_an_open_stream(const std::filesystem::path& path) {
  struct statfs status {};
  return path.parent_path().filename() == "fd" && ::statfs(path.parent_path().c_str(), &status) == 0 &&
         status.f_type == PROC_SUPER_MAGIC;
}

std::filesystem::path follow_links(const std::filesystem::path& target) {
  std::filesystem::path path = target;
  for (int i = 0; i < most_links; ++i) {
    if (is_an_open_stream(path)) {
      throw Failure(target.string() +
                    ": a stream, and the result takes the place of a regular file; --emit without --output writes "
                    "to standard output");
    }
    std::error_code error;
    const auto next = std::filesystem::read_symlink(path, error);
    if (error) return path;
    path = next.is_absolute() ? next : path.parent_path() / next;
  }
  throw SystemFailure(target.string(), "open", ELOOP);
}

Descriptor open_target(const Place& target) {
  return Descriptor(::openat(target.folder(), target.name(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
}

/// Rights or file system do not allow it.
bool is_not_allowed(int error) {
  return error == EPERM || error == EACCES || error == ENOTSUP || error == EINVAL || error == ENODATA;
}

void check_attributes(int descriptor, const std::filesystem::path& file) {
  struct statx status {};
  if (::statx(descriptor, "", AT_EMPTY_PATH, STATX_TYPE, &status) != 0) return;
  const auto has = [&](std::uint64_t attribute) { return (status.stx_attributes & attribute) != 0; };
  if (has(STATX_ATTR_IMMUTABLE)) throw Refused(file.string(), "immutable (chattr +i)");
  if (has(STATX_ATTR_APPEND)) throw Refused(file.string(), "can only be appended to (chattr +a)");
  if (has(STATX_ATTR_VERITY)) throw Refused(file.string(), "protected by fs-verity");
}

/// Linux, security/integrity/integrity.h, enum evm_ima_xattr_type: the first byte is the kind of what follows. The
/// kernel computes a digest again; only the owner of the key can make a signature.
void check_not_signed(int descriptor, const std::filesystem::path& file) {
  constexpr std::uint8_t signature = 3, signature_of_verity_digest = 6;
  std::array<std::uint8_t, 4096> value{};
  const ssize_t size = ::fgetxattr(descriptor, "security.ima", value.data(), value.size());
  if (size > 0 && (value[0] == signature || value[0] == signature_of_verity_digest))
    throw Refused(file.string(), "signed (security.ima), and a change would break the signature");
}

/// A server must allow the lease as well (a delegation, an oplock); else the kernel answers as it does for a file with
/// a writer: Linux, nfs4_setlease in fs/nfs/nfs4file.c, cifs_setlease in fs/smb/client/cifsfs.c.
bool is_on_a_server(int descriptor) {
  constexpr std::array<std::uint32_t, 9> servers{NFS_SUPER_MAGIC,  CIFS_SUPER_MAGIC, SMB2_SUPER_MAGIC,
                                                 SMB_SUPER_MAGIC,  AFS_SUPER_MAGIC,  AFS_FS_MAGIC,
                                                 CEPH_SUPER_MAGIC, FUSE_SUPER_MAGIC, V9FS_MAGIC};
  struct statfs status {};
  return ::fstatfs(descriptor, &status) == 0 &&
         std::ranges::find(servers, static_cast<std::uint32_t>(status.f_type)) != servers.end();
}

/// The kernel gives a lease for reading only while no process has the file open for writing. Not known for file systems
/// without leases, those of a server, and files of other users.
bool is_open_for_writing(int descriptor) {
  // The signal of a process that wants the lease back: SIGURG is ignored by default, SIGIO would end the program.
  ::fcntl(descriptor, F_SETSIG, SIGURG);
  if (::fcntl(descriptor, F_SETLEASE, F_RDLCK) != 0) return errno == EAGAIN && !is_on_a_server(descriptor);
  ::fcntl(descriptor, F_SETLEASE, F_UNLCK);
  return false;
}

/// Waits a moment: a program that starts another one passes on its open files until exec().
void check_not_open_for_writing(int descriptor, const std::filesystem::path& file) {
  using namespace std::chrono_literals;
  const auto deadline = std::chrono::steady_clock::now() + 500ms;
  while (is_open_for_writing(descriptor)) {
    if (std::chrono::steady_clock::now() > deadline)
      throw Refused(file.string(), "open for writing in another process");
    std::this_thread::sleep_for(10ms);
  }
}

/// Refuses to replace a file that must not change: one that is immutable or can only be appended to (chattr), protected
/// by fs-verity, signed (security.ima), or open for writing in some process. `descriptor` is open for reading only.
void check_replaceable(int descriptor, const std::filesystem::path& file) {
  check_attributes(descriptor, file);
  check_not_signed(descriptor, file);
  check_not_open_for_writing(descriptor, file);
}

}  // namespace

AtomicFile::AtomicFile(const std::filesystem::path& target, const MappedFile& input, New kind)
    : input_(input), kind_(kind), target_(follow_links(target), "write"), target_before_(target_.identity()) {
  struct stat status {};
  if (::fstatat(target_.folder(), target_.name(), &status, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(status.st_mode))
    throw Failure(target.string() + ": not a regular file");
  if (const Descriptor replaced = open_target(target_); replaced.is_open())
    check_replaceable(replaced.number(), target);
  check_unchanged();
  // The name may lead to another file by now, if a directory of its path was replaced.
  if (target == input.name() && target_before_ != input.identity())
    throw Refused(target.string(), "changed by another process meanwhile");
  // Not mkostemp: this way the kernel gives a new file the mode that the umask says. Asking for the umask would change
  // it for all threads.
  const mode_t mode = kind_ == New::LikeAny && !target_before_ ? 0666 : 0600;
  file_.emplace(target_, mode);
}

/// After the contents: the kernel takes set-user-ID bits and capabilities away from a file that is written to.
void AtomicFile::take_attributes() const {
  if (kind_ == New::LikeAny && !target_before_) return;
  const Descriptor replaced = open_target(target_);
  if (!replaced.is_open() && target_before_) throw SystemFailure(target_.path().string(), "read the attributes", errno);
  const int source = replaced.is_open() ? replaced.number() : input_.descriptor();
  struct stat status {};
  if (::fstat(source, &status) != 0) throw SystemFailure(target_.path().string(), "read", errno);
  // As cp and strip -o: only what replaces a program may have its privileges.
  const bool is_new = !replaced.is_open();
  mode_t mode = status.st_mode & (is_new ? 0777 : 07777);
  // Owner first: chown takes setuid bits away. Only root may give files to others; then the bits must not stay.
  if (::fchown(descriptor(), status.st_uid, status.st_gid) != 0) {
    if (errno != EPERM) throw SystemFailure(target_.path().string(), "set the owner", errno);
    if (::fchown(descriptor(), static_cast<uid_t>(-1), status.st_gid) != 0) mode &= ~static_cast<mode_t>(S_ISGID);
    if (status.st_uid != ::geteuid()) mode &= ~static_cast<mode_t>(S_ISUID);
  }
  // A folder's default list must not let in whom the old file kept out; its own list, if any, is copied below.
  ::fremovexattr(descriptor(), access_list);
  copy_extended_attributes(source, is_new);
  // The mode last: before the list of who may do what, it would let in whom the list keeps out. A list sets the bits of
  // the mode that it covers, and some servers drop it if these are set again.
  struct stat made {};
  if (::fstat(descriptor(), &made) != 0) throw SystemFailure(target_.path().string(), "read", errno);
  if ((made.st_mode & 07777) != mode && ::fchmod(descriptor(), mode) != 0)
    throw SystemFailure(target_.path().string(), "set the mode", errno);
}

void AtomicFile::copy_extended_attributes(int source, bool is_new) const {
  const ssize_t size = ::flistxattr(source, nullptr, 0);
  if (size < 0 && errno != ENOTSUP) throw SystemFailure(target_.path().string(), "read the attributes", errno);
  if (size <= 0) return;
  std::vector<char> names(static_cast<std::size_t>(size));
  const ssize_t listed = ::flistxattr(source, names.data(), names.size());
  if (listed < 0) throw SystemFailure(target_.path().string(), "read the attributes", errno);
  std::string_view rest(names.data(), static_cast<std::size_t>(listed));
  while (!rest.empty()) {
    const std::string name(rest.substr(0, rest.find('\0')));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    // Hashes and signatures of the old contents.
    if (name == "security.ima" || name == "security.evm") continue;
    if (is_new && name == "security.capability") continue;
    const ssize_t value_size = ::fgetxattr(source, name.c_str(), nullptr, 0);
    std::vector<char> value(static_cast<std::size_t>(std::max<ssize_t>(value_size, 0)));
    const ssize_t got = value_size < 0 ? -1 : ::fgetxattr(source, name.c_str(), value.data(), value.size());
    // Security modules may list what they do not show.
    if (got < 0 && is_not_allowed(errno)) continue;
    if (got < 0) throw SystemFailure(target_.path().string(), "read the attribute " + name, errno);
    const bool kept = ::fsetxattr(descriptor(), name.c_str(), value.data(), static_cast<std::size_t>(got), 0) == 0;
    // A program that lost its capabilities would fail in ways that are hard to trace.
    const bool must_stay = name == "security.capability" || name.starts_with("system.posix_acl");
    if (!kept && (must_stay || !is_not_allowed(errno)))
      throw SystemFailure(target_.path().string(), "keep the attribute " + name, errno);
  }
}

/// A moment is left between this and the rename: no system call does both at once.
void AtomicFile::check_unchanged() const {
  struct stat status {};
  if (::fstat(input_.descriptor(), &status) != 0) throw SystemFailure(input_.name(), "read", errno);
  if (FileIdentity(status) != input_.identity()) throw Refused(input_.name(), "changed while it was read");
  if (target_.identity() != target_before_)
    throw Refused(target_.path().string(), "changed by another process meanwhile");
}

void AtomicFile::commit() {
  check_unchanged();
  // A kill during the long wait leaves a file that only its owner can read, and no one can run.
  if (file_->has_temporary_name()) file_->sync();
  take_attributes();
  file_->sync();
  check_unchanged();
  file_->replace_target();
}

void replace_file(const std::filesystem::path& output, std::span<const std::span<const std::byte>> pieces,
                  const MappedFile& input, AtomicFile::New kind) {
  AtomicFile file(output, input, kind);
  std::vector<Region> regions;
  std::uint64_t size = 0;
  for (const auto piece : pieces) {
    regions.push_back({size, piece.size(), Region::Source::Bytes, 0, piece.data()});
    size += piece.size();
  }
  RegionWriter(input, file.descriptor(), output.string()).write(regions);
  file.commit();
}

void replace_by_link(const std::filesystem::path& name, const std::filesystem::path& file,
                     const std::pair<dev_t, ino_t>& old) {
  const Place place(name, "replace");
  struct stat linked {};
  struct stat replaced {};
  // link() replaces nothing, rename() does.
  TemporaryFile link(place, "replace", [&](const char* path) {
    const int result = ::linkat(AT_FDCWD, file.c_str(), place.folder(), path, 0);
    if (result == 0) ::fstatat(place.folder(), path, &linked, AT_SYMLINK_NOFOLLOW);
    return result;
  });
  const bool is_there = ::fstatat(place.folder(), place.name(), &replaced, AT_SYMLINK_NOFOLLOW) == 0;
  // The directory of `file` is not held open: it may lead elsewhere, but not to what another user owns.
  if (!is_there || std::pair(replaced.st_dev, replaced.st_ino) != old || linked.st_uid != replaced.st_uid)
    throw Refused(name.string(), "changed by another process meanwhile");
  link.rename();
}

}  // namespace sframe_gen::files
