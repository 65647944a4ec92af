#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>

#include "support/digest.hpp"
#include "support/mapped_file.hpp"

namespace sframe_gen::trace {

/// A file of the cache folder: what was worked out once, behind a digest of it and of what it was made from. A file
/// that is damaged, somebody else's, made from something else or in another form is as good as none.
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
