#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>

#include "support/hash.hpp"
#include "support/mapped_file.hpp"

namespace sframe_gen::files {

/// A file of the cache directory: a digest of its contents and of their source, then the contents. A file that is
/// damaged, owned by another user, made from another source, by another release or in another form is ignored.
class KeptFile {
 public:
  /// `source`: a digest of what the content has to be made from.
  static std::optional<KeptFile> find(const std::filesystem::path& path, const Digest& source);
  /// The file is whole or not there. Returns false if it cannot be kept: it is made again next time. `mode`: as open()
  /// takes it.
  static bool keep(const std::filesystem::path& path, const Digest& source, std::span<const std::byte> content,
                   mode_t mode = S_IRUSR | S_IWUSR);

  /// Aligned for any number.
  std::span<const std::byte> content() const;

 private:
  explicit KeptFile(MappedFile file) : file_(std::move(file)) {}

  MappedFile file_;
};

}  // namespace sframe_gen::files
