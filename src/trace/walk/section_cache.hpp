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

/// A file of the cache directory: a digest of its contents and of their source, then the contents. A file that is
/// damaged, owned by another user, made from another source or in another form is ignored.
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

/// Generated sections in a directory, keyed by the build-id and a digest of their file. The reader of a section checks
/// it; a section that cannot be stored is generated again next time.
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
