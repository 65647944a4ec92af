#pragma once

#include <filesystem>
#include <vector>

#include "elf/image.hpp"
#include "support/mapped_file.hpp"

namespace sframe_gen::trace {

/// Where the files are that a recording or a core file names, and their debug files: on this system, or in a directory
/// that no name leads out of, neither by ".." nor by a link. The directory is held open, so it stays the same one.
class FileRoot {
 public:
  /// This system.
  FileRoot() = default;
  /// Throws SystemFailure, also where the system has no openat2() (Linux 5.6) or does not allow it.
  explicit FileRoot(std::filesystem::path directory);

  /// Whether it is not this system's own.
  bool is_a_directory() const { return directory_.is_open(); }

  /// `path` begins at the root, as do absolute links that it leads through. Throws as elf::Image::open() does.
  elf::Image open(const std::filesystem::path& path) const;
  /// Any file, for reading, unless `path` itself is a link. Not open: it is not there.
  Descriptor open_text(const std::filesystem::path& path) const;
  /// Returns paths of an open file, which begin at the root: the one that it was opened by, and the one that links lead
  /// to, if it is another. Empty: it has no path, or none below the root.
  std::vector<std::filesystem::path> names_of(const elf::Image& image) const;

 private:
  std::filesystem::path name_ = "/";
  Descriptor directory_;  ///< of a root that was given
};

}  // namespace sframe_gen::trace
