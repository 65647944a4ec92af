#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "elf/image.hpp"
#include "support/mapped_file.hpp"
#include "trace/files/file_opener.hpp"
#include "trace/files/named_file.hpp"

namespace sframe_gen::trace {

/// Where the files are that a recording or a core file names, and their debug files: on this system, or in a directory
/// that no name leads out of, neither by ".." nor by a link. The directory is held open, so it stays the same one. Each
/// file is waited for a second at most.
class FileRoot {
 public:
  /// This system.
  FileRoot();
  /// Throws SystemFailure, also where the system has no openat2() (Linux 5.6) or does not allow it.
  explicit FileRoot(std::filesystem::path directory);
  FileRoot(FileRoot&& other) noexcept;
  FileRoot& operator=(FileRoot&&) = delete;
  FileRoot(const FileRoot&) = delete;
  FileRoot& operator=(const FileRoot&) = delete;
  ~FileRoot();

  /// Whether it is not this system's own.
  bool is_a_directory() const { return directory_.is_open(); }

  /// `path` begins at the root, as do absolute links that it leads through. `user`: who chose it, as far as is known.
  /// Throws as elf::Image::open() does, and Refused if the file system does not answer.
  elf::Image open(const std::filesystem::path& path, uid_t user = 0) const;
  /// The same, as a file; `full_name`: for messages.
  std::shared_ptr<const OpenFile> open_path(const std::filesystem::path& path, uid_t user = 0) const;
  std::string full_name(const std::filesystem::path& path) const { return (name_ / path.relative_path()).string(); }
  /// A file that is no ELF file, unless `path` itself is a link. Never null.
  std::shared_ptr<const OpenFile> open_text(const std::filesystem::path& path) const;
  /// Any file, with other files of the group. Never null.
  std::shared_ptr<const OpenFile> open_file(const NamedFile& file, const WaitingGroup& group) const;
  /// Waits for a file that was begun.
  std::shared_ptr<const OpenFile> wait_for(const std::shared_ptr<FileOpening>& opening, uid_t user) const;

  /// Opens the files; begins with the first call, which must be made before the program has threads that call it.
  FileOpener& opener() const;
  /// From now on, files that other users chose than root and this one make the program wait for a second for each user,
  /// and a hundredth of the time that goes by; and for all of them, three times that.
  void limit_waiting_for_others();
  /// And for half a second more in all. Any thread may call it.
  void end_waiting_for_others();

  /// Returns paths of an open file, which begin at the root: the one that it was opened by, and the one that links lead
  /// to, if it is another. Empty: it has no path, or none below the root.
  std::vector<std::filesystem::path> names_of(const elf::Image& image) const;

 private:
  std::filesystem::path name_ = "/";
  Descriptor directory_;  ///< of a root that was given

  struct Waiting;
  std::unique_ptr<Waiting> waiting_;
};

/// Throws what says why a file was not opened.
[[noreturn]] void throw_why(const std::string& name, const OpenFile& file);

}  // namespace sframe_gen::trace
