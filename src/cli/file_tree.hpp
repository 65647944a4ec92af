#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <set>
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

/// Which kinds of files below a directory count.
enum class TreeFiles : std::uint8_t {
  All,     ///< every ELF file and archive
  Loaded,  ///< linked files and kernel modules
  Linked,  ///< programs and libraries
};

struct TreeFilter {
  std::vector<std::string> excluded;  ///< parts of paths, which count from the directory
  TreeFiles wanted = TreeFiles::All;
};

struct FoundFiles {
  std::vector<Subject> subjects;
  std::vector<std::string> failures;             ///< directories that cannot be read: "DIRECTORY: cannot read: …"
  std::set<std::pair<dev_t, ino_t>> left_alone;  ///< ELF files and archives that are not wanted
  /// Files that a run of sframe-gen has not given their name yet, or was killed before it did: device and inode.
  std::vector<std::pair<dev_t, ino_t>> temporary_files;
};

/// Every ELF file and archive below `directory` that is wanted, told by its content, in the order of the paths; each
/// file once, whatever names it has. Symbolic links are not followed. Devices, other file systems and temporary files
/// of sframe-gen are left alone. Throws Failure where `directory` is none.
FoundFiles find_files(const std::filesystem::path& directory, const TreeFilter& filter);

/// Gives all names to what now has the first, each atomically: a file that was replaced stays under its other names.
/// Throws SystemFailure.
void keep_names_together(const Subject& subject);

}  // namespace sframe_gen::cli
