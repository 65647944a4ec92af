#include "trace/walk/section_cache.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <optional>
#include <string>

#include "elf/build_id.hpp"
#include "support/file_identity.hpp"

namespace sframe_gen::trace {

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
