#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace sframe_gen::cli {

/// A file to work on.
struct Subject {
  std::filesystem::path file;
  std::uint64_t size = 0;                          ///< bytes; 0: not known
  std::vector<std::filesystem::path> other_names;  ///< of the same file, below the same directory
  std::uint64_t names_elsewhere = 0;               ///< how many more the file has
  std::pair<dev_t, ino_t> identity = {};           ///< of a file that was found
  /// For a thin archive that was found: whether a member's file may be replaced.
  std::function<bool(const std::filesystem::path&)> may_replace = nullptr;
};

/// Which files below a directory count.
struct TreeFilter {
  std::vector<std::string> excluded;  ///< parts of paths, which count from the directory
  bool linked_only = false;           ///< no objects, no archives
};

struct FoundFiles {
  std::vector<Subject> subjects;
  std::vector<std::string> failures;  ///< directories that cannot be read: "DIRECTORY: cannot read: …"
};

/// Every ELF file and archive below `directory`, told by its content, in the order of the paths; each file once,
/// whatever names it has. Symbolic links are not followed, devices and other file systems are left alone. Throws
/// Failure where `directory` is none.
FoundFiles find_files(const std::filesystem::path& directory, const TreeFilter& filter);

/// Gives all names to what now has the first, each atomically: a file that was replaced stays under its other names.
/// Throws SystemFailure.
void keep_names_together(const Subject& subject);

}  // namespace sframe_gen::cli
