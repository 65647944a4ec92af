#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

/// Files to work on: those below a directory, with all their names, and what is lost when one is replaced.
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
