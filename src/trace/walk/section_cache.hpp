#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>

#include "elf/image.hpp"
#include "support/hash.hpp"
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

/// Sections that were made once, in a folder, by the build-id and a digest of their file. What is read from it is
/// checked by whoever opens it; what cannot be kept is made again next time.
class SectionCache {
 public:
  /// Where the starts of a kept section's functions count from.
  static constexpr std::uint64_t address = 0;

  /// `folder`, empty: nothing is found or kept. `image` has to live on.
  SectionCache(const std::filesystem::path& folder, const elf::Image& image);

  std::optional<KeptFile> find() const;
  void keep(std::span<const std::byte> section) const;

 private:
  std::filesystem::path path_;  ///< empty: the file has no build-id, or nothing is kept
  Digest digest_{};             ///< of the file
};

}  // namespace sframe_gen::trace
