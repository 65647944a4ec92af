#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "elf/image.hpp"
#include "files/kept_file.hpp"
#include "support/hash.hpp"

namespace sframe_gen::elf {

/// The place of a file's section in the cache directory, by its build-id, its digest and this release. Build-ids are
/// what a linker was told to write, so the bytes count as well; and another release may know more rows.
class KeptSection {
 public:
  /// A file without a build-id has no place. `directory` may be empty: then no file has one. `kind` tells sections of
  /// one file apart that have different rows. Throws MalformedInput.
  KeptSection(const std::filesystem::path& directory, const Image& image, std::string_view kind = "");

  bool has_place() const { return !path_.empty(); }
  /// Returns the section that was kept, or nothing.
  std::optional<files::KeptFile> find() const;
  /// Returns false if it cannot be kept.
  bool keep(std::span<const std::byte> section, mode_t mode = S_IRUSR | S_IWUSR) const;

  /// Gives what is kept the name by which programs find it for their own code (files::SectionName). sframe-trace never
  /// does: it reads files that anyone may have made. Throws Refused if the file can have no such name, or
  /// SystemFailure.
  void offer() const;

 private:
  std::filesystem::path path_, offered_;  ///< the latter is empty if the name would be too long
  Digest digest_{};
  std::string file_;  ///< for messages
};

}  // namespace sframe_gen::elf
