#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>

#include "support/hash.hpp"
#include "support/mapped_file.hpp"

namespace sframe_gen::trace {

/// A file of the cache directory: a digest of its contents and of their source, then the contents. A file that is
/// damaged, owned by another user, made from another source, by another release or in another form is ignored.
class KeptFile {
 public:
  /// `source`: a digest of what the content has to be made from.
  static std::optional<KeptFile> find(const std::filesystem::path& path, const Digest& source);
  /// The file is whole or not there. What cannot be kept is made again next time.
  static void keep(const std::filesystem::path& path, const Digest& source, std::span<const std::byte> content);

  /// Aligned for any number.
  std::span<const std::byte> content() const;

 private:
  explicit KeptFile(MappedFile file) : file_(std::move(file)) {}

  MappedFile file_;
};

}  // namespace sframe_gen::trace
