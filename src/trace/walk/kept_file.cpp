#include "trace/walk/kept_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <system_error>

#include "files/new_file.hpp"
#include "sframe_gen/error.hpp"
#include "support/mapped_file.hpp"

namespace sframe_gen::trace {

namespace {

/// In front of the content. What another release keeps may look otherwise.
struct KeptHeader {
  std::array<char, 32> form{"sframe-trace " SFRAME_GEN_VERSION};
  Digest digest{};  ///< of all that follows
  Digest source{};
};
static_assert(sizeof(KeptHeader) == 64 && sizeof "sframe-trace " SFRAME_GEN_VERSION <= sizeof(KeptHeader::form));

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

void KeptFile::keep(const std::filesystem::path& path, const Digest& source, std::span<const std::byte> content) {
  KeptHeader header;
  header.source = source;
  header.digest = digest_of(source, content);
  std::error_code failed;
  std::filesystem::create_directories(path.parent_path(), failed);
  try {
    const files::Place place(path, "write");
    files::NewFile file(place, S_IRUSR | S_IWUSR);
    if (write_all(file.descriptor(), bytes_of(header)) && write_all(file.descriptor(), content)) file.replace_target();
  } catch (const SystemFailure&) {
    // It is made again next time.
  }
}

}  // namespace sframe_gen::trace
