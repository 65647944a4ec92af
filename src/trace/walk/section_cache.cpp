#include "trace/walk/section_cache.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <optional>
#include <string>
#include <system_error>

#include "elf/notes.hpp"
#include "sframe_gen/error.hpp"
#include "support/mapped_file.hpp"

namespace sframe_gen::trace {

namespace {

/// In front of the content. What another release keeps may look otherwise.
struct Header {
  std::array<char, 32> form{"sframe-trace " SFRAME_GEN_VERSION};
  Digest digest{};  ///< of all that follows
  Digest source{};
};
static_assert(sizeof(Header) == 64 && sizeof "sframe-trace " SFRAME_GEN_VERSION <= sizeof(Header::form));

std::span<const std::byte> bytes_of(const Header& header) {
  return std::as_bytes(std::span(&header, 1));
}

Digest digest_of(const Digest& source, std::span<const std::byte> content) {
  Digester digester;
  digester.update(source);
  digester.update(content);
  return digester.digest();
}

/// A folder that others can write to may hold what they want us to believe.
bool is_own(int descriptor) {
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 && status.st_uid == ::geteuid() &&
         (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool write_all(int descriptor, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace

std::optional<KeptFile> KeptFile::find(const std::filesystem::path& path, const Digest& source) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none)) return std::nullopt;
  try {
    KeptFile kept{MappedFile(path)};
    const auto bytes = kept.file_.bytes();
    Header expected;
    if (bytes.size() < sizeof expected || !is_own(kept.file_.descriptor())) return std::nullopt;
    expected.source = source;
    expected.digest = digest_of(source, kept.content());
    if (std::ranges::equal(bytes.first(sizeof expected), bytes_of(expected))) return kept;
  } catch (const Failure&) {
    // As if there were none.
  }
  return std::nullopt;
}

std::span<const std::byte> KeptFile::content() const {
  return file_.bytes().subspan(sizeof(Header));
}

void KeptFile::keep(const std::filesystem::path& path, const Digest& source, std::span<const std::byte> content) {
  Header header;
  header.source = source;
  header.digest = digest_of(source, content);
  std::error_code failed;
  std::filesystem::create_directories(path.parent_path(), failed);
  std::string made = path.string() + ".XXXXXX";
  const int descriptor = ::mkostemp(made.data(), O_CLOEXEC);
  if (descriptor < 0) return;
  const bool is_written = write_all(descriptor, bytes_of(header)) && write_all(descriptor, content);
  const bool is_closed = ::close(descriptor) == 0;
  if (is_written && is_closed) std::filesystem::rename(made, path, failed);
  if (!is_written || !is_closed || failed) std::filesystem::remove(made, failed);
}

namespace {

/// A small file is read in less time than what was kept of it is opened.
constexpr std::size_t least_remembered = std::size_t{1} << 20U;

/// A page that is mapped for writing is written to without the file's times being changed, until the kernel has stored
/// it (vm.dirty_expire_centisecs, 30 s).
constexpr std::int64_t least_age_s = 60;

Digest digest_of(std::span<const std::byte> bytes) {
  Digester digester;
  digester.update(bytes);
  return digester.digest();
}

Digest digest_of(const FileIdentity& identity) {
  const std::array<std::uint64_t, 7> words{identity.device,
                                           identity.inode,
                                           static_cast<std::uint64_t>(identity.size),
                                           static_cast<std::uint64_t>(identity.modified_s),
                                           static_cast<std::uint64_t>(identity.modified_ns),
                                           static_cast<std::uint64_t>(identity.changed_s),
                                           static_cast<std::uint64_t>(identity.changed_ns)};
  return digest_of(std::as_bytes(std::span(words)));
}

/// Nothing: it is in memory.
std::optional<FileIdentity> identity_of(const elf::Image& image) {
  try {
    return image.file().identity();
  } catch (const std::bad_optional_access&) {
    return std::nullopt;
  }
}

/// Of a large file that has not been written to since it was read once, without reading it again. `path`: where that
/// is remembered, one file for each build-id.
Digest file_digest(const elf::Image& image, const std::filesystem::path& path) {
  const bool is_large = image.file_bytes().size() >= least_remembered;
  const auto identity = is_large ? identity_of(image) : std::nullopt;
  if (!identity) return digest_of(image.file_bytes());
  const Digest source = digest_of(*identity);
  Digest digest;
  if (const auto kept = KeptFile::find(path, source); kept && kept->content().size() == digest.size()) {
    std::ranges::copy(kept->content(), digest.begin());
    return digest;
  }
  digest = digest_of(image.file_bytes());
  const std::int64_t old = std::time(nullptr) - least_age_s;
  if (identity->modified_s < old && identity->changed_s < old) KeptFile::keep(path, source, digest);
  return digest;
}

}  // namespace

SectionCache::SectionCache(const std::filesystem::path& folder, const elf::Image& image) {
  if (folder.empty()) return;
  const std::string id = elf::hex_digits(elf::build_id(image));
  if (id.empty()) return;
  // Build-ids are what a linker was told to write; and another release may know more rows.
  digest_ = file_digest(image, folder / (id + ".digest"));
  path_ = folder / (id + "-" + elf::hex_digits(digest_) + "-" SFRAME_GEN_VERSION ".sframe");
}

std::optional<KeptFile> SectionCache::find() const {
  if (path_.empty()) return std::nullopt;
  return KeptFile::find(path_, digest_);
}

void SectionCache::keep(std::span<const std::byte> section) const {
  if (!path_.empty()) KeptFile::keep(path_, digest_, section);
}

}  // namespace sframe_gen::trace
