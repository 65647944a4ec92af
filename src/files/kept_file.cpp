#include "files/kept_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <system_error>

#include "files/kept_header.hpp"
#include "files/new_file.hpp"
#include "sframe_gen/error.hpp"
#include "support/mapped_file.hpp"

namespace sframe_gen::files {

namespace {

std::span<const std::byte> bytes_of(const KeptHeader& header) {
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
    KeptHeader expected;
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
  return file_.bytes().subspan(sizeof(KeptHeader));
}

bool KeptFile::keep(const std::filesystem::path& path, const Digest& source, std::span<const std::byte> content,
                    mode_t mode) {
  KeptHeader header;
  header.source = source;
  header.digest = digest_of(source, content);
  std::error_code failed;
  std::filesystem::create_directories(path.parent_path(), failed);
  try {
    const Place place(path, "write");
    NewFile file(place, mode);
    if (!write_all(file.descriptor(), bytes_of(header)) || !write_all(file.descriptor(), content)) return false;
    file.replace_target();
    return true;
  } catch (const SystemFailure&) {
    return false;
  }
}

}  // namespace sframe_gen::files
