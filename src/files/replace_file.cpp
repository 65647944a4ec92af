#include "files/replace_file.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "files/atomic_file.hpp"
#include "files/regions.hpp"
#include "sframe_gen/error.hpp"

namespace sframe_gen::files {

namespace {

void check_attributes(int descriptor, const std::filesystem::path& file) {
  struct statx status {};
  if (::statx(descriptor, "", AT_EMPTY_PATH, STATX_TYPE, &status) != 0) return;
  const auto has = [&](std::uint64_t attribute) { return (status.stx_attributes & attribute) != 0; };
  if (has(STATX_ATTR_IMMUTABLE)) throw Refused(file.string(), "is immutable (chattr +i)");
  if (has(STATX_ATTR_APPEND)) throw Refused(file.string(), "can only be appended to (chattr +a)");
  if (has(STATX_ATTR_VERITY)) throw Refused(file.string(), "is protected by fs-verity");
}

/// Linux, security/integrity/integrity.h, enum evm_ima_xattr_type: the first byte says what follows. A digest is made
/// anew by the kernel; a signature only by who has the key.
void check_not_signed(int descriptor, const std::filesystem::path& file) {
  constexpr std::uint8_t signature = 3, signature_of_verity_digest = 6;
  std::array<std::uint8_t, 4096> value{};
  const ssize_t size = ::fgetxattr(descriptor, "security.ima", value.data(), value.size());
  if (size > 0 && (value[0] == signature || value[0] == signature_of_verity_digest))
    throw Refused(file.string(), "is signed (security.ima), and a change would break the signature");
}

/// There a lease needs the leave of a server as well (a delegation, an oplock), and without it the kernel answers as it
/// does for a file with a writer: Linux, nfs4_setlease in fs/nfs/nfs4file.c, cifs_setlease in fs/smb/client/cifsfs.c.
bool is_on_a_server(int descriptor) {
  struct statfs status {};
  if (::fstatfs(descriptor, &status) != 0) return false;
  switch (static_cast<std::uint32_t>(status.f_type)) {
    case NFS_SUPER_MAGIC:
    case CIFS_SUPER_MAGIC:
    case SMB2_SUPER_MAGIC:
    case SMB_SUPER_MAGIC:
    case AFS_SUPER_MAGIC:
    case AFS_FS_MAGIC:
    case CEPH_SUPER_MAGIC:
    case FUSE_SUPER_MAGIC:
    case V9FS_MAGIC:
      return true;
    default:
      return false;
  }
}

/// A lease for reading is given only while nobody has the file open for writing; file systems without leases, those of
/// a server, and files of others, get no answer.
bool is_open_for_writing(int descriptor) {
  // Its default action is none: SIGIO, which says otherwise that somebody wants the lease back, would end the program.
  ::fcntl(descriptor, F_SETSIG, SIGURG);
  if (::fcntl(descriptor, F_SETLEASE, F_RDLCK) != 0) return errno == EAGAIN && !is_on_a_server(descriptor);
  ::fcntl(descriptor, F_SETLEASE, F_UNLCK);
  return false;
}

/// A program that starts another one passes on its open files for a moment, so whoever wrote this one may seem to go
/// on.
void check_not_open_for_writing(int descriptor, const std::filesystem::path& file) {
  using namespace std::chrono_literals;
  const auto deadline = std::chrono::steady_clock::now() + 500ms;
  while (is_open_for_writing(descriptor)) {
    if (std::chrono::steady_clock::now() > deadline)
      throw Refused(file.string(), "is open for writing in another process");
    std::this_thread::sleep_for(10ms);
  }
}

}  // namespace

void check_replaceable(int descriptor, const std::filesystem::path& file) {
  check_attributes(descriptor, file);
  check_not_signed(descriptor, file);
  check_not_open_for_writing(descriptor, file);
}

namespace {

void write_file(const std::filesystem::path& output, std::span<const std::span<const std::byte>> pieces,
                const MappedFile& input, AtomicFile::New kind) {
  AtomicFile file(output, input, kind);
  std::vector<Region> regions;
  std::uint64_t size = 0;
  for (const auto piece : pieces) {
    regions.push_back({size, piece.size(), Region::Source::Bytes, 0, piece.data()});
    size += piece.size();
  }
  RegionWriter(input, file.descriptor(), output.string()).write(regions);
  file.take_attributes();
  file.commit();
}

}  // namespace

void replace_file(const std::filesystem::path& output, std::span<const std::span<const std::byte>> pieces,
                  const MappedFile& input) {
  write_file(output, pieces, input, AtomicFile::New::LikeInput);
}

void write_new_file(const std::filesystem::path& output, std::span<const std::byte> bytes, const MappedFile& input) {
  write_file(output, {&bytes, 1}, input, AtomicFile::New::LikeAny);
}

void replace_by_link(const std::filesystem::path& name, const std::filesystem::path& file) {
  // link() replaces nothing, rename() does.
  constexpr std::size_t longest_prefix = 200;  // NAME_MAX is 255
  std::string beside = (name.parent_path() / ("." + name.filename().string().substr(0, longest_prefix) +
                                              ".sframe-gen-" + std::to_string(::getpid()) + "-name"))
                           .string();
  std::optional<TemporaryFile> link;
  {
    const MakingFile making;
    if (::link(file.c_str(), beside.c_str()) != 0) throw SystemFailure(name.string(), "replace", errno);
    link.emplace(std::move(beside));
  }
  if (::rename(link->path().c_str(), name.c_str()) != 0) throw SystemFailure(name.string(), "replace", errno);
  link->forget();
}

}  // namespace sframe_gen::files
