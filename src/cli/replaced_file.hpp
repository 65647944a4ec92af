#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

namespace sframe_gen::cli {

/// A file before it is replaced, to tell afterwards what the new one lacks.
class ReplacedFile {
 public:
  /// A symbolic link is followed. There may be no such file.
  explicit ReplacedFile(std::filesystem::path file);

  /// Returns what was lost, "owner changed from user 0 to 1000; no set-user-ID bit any more"; nothing where that is
  /// nothing, or the file is still the same. `names_kept`: how many names of the old file lead to the new one.
  std::string losses(std::size_t names_kept) const;

 private:
  std::optional<struct stat> status() const;

  std::filesystem::path file_;
  std::optional<struct stat> before_;
};

}  // namespace sframe_gen::cli
