#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <ostream>
#include <string>

#include "files/new_file.hpp"
#include "support/mapped_file.hpp"

namespace sframe_gen::trace {

/// Returns the number of an open file of this program that `path` names: "-" and /dev/stdout are 1, /dev/stderr is 2,
/// /dev/fd/3 and /proc/self/fd/3 are 3. None: the path names another file.
std::optional<int> stream_named(const std::filesystem::path& path);

/// Throws SystemFailure, which names `path`, unless a stream is open for writing.
void require_writable(int stream, const std::filesystem::path& path);

/// A picture or profile. It is made without a name in the directory, and takes its name when it is complete. What is
/// there already and is no regular file, such as a pipe, is written to.
class OutputFile {
 public:
  /// Follows a link if it and its directory belong to this program's user or to root, and no other user may write to
  /// the directory. Throws Refused for other links, directories, ELF files and recordings, or SystemFailure, also for
  /// what this user may not write to.
  explicit OutputFile(std::filesystem::path path);

  /// The directory that the file is made in, without a link. Empty: it is an open file.
  std::filesystem::path folder() const;
  /// Writes all of it by `content`, once. Throws SystemFailure or Refused.
  void write(const std::function<void(std::ostream&)>& content);

 private:
  std::filesystem::path path_;
  std::optional<int> stream_;
  std::optional<files::Place> place_;   ///< none: it is an open file
  std::optional<files::NewFile> file_;  ///< none: it is an open file, or what is there is no regular one
};

/// A recording under way: perf.data.XXXXXX, which only this user can read, until it takes the name perf.data. If the
/// program is killed before, or the name cannot be had, the file stays.
class RecordingFile {
 public:
  /// Throws SystemFailure, or Refused if what has the name is neither a regular file nor a link.
  explicit RecordingFile(std::filesystem::path path);
  /// Removes the file if it was not told to take its name.
  ~RecordingFile();
  RecordingFile(const RecordingFile&) = delete;
  RecordingFile& operator=(const RecordingFile&) = delete;

  const std::filesystem::path& path() const { return place_.path(); }
  int descriptor() const { return file_.number(); }
  /// Takes the name; a file or a link that has it becomes perf.data.old. What others put there meanwhile is neither
  /// followed nor lost. Throws SystemFailure or Refused.
  void take_name();
  /// What the file is called now.
  std::filesystem::path current_path() const;

 private:
  bool take_free_name();

  files::Place place_;
  std::string name_;  ///< until it takes the one of place_; then empty
  bool is_kept_ = false;
  Descriptor file_;
};

/// Opens an empty file to read and write that no directory lists, and that is gone when it is closed: in the file
/// system of `folder`, unless that is empty or has no such files, and else of TMPDIR. Throws SystemFailure.
Descriptor open_unnamed_recording(const std::filesystem::path& folder);

/// Gives the recording that has the name, or a link there, the name with ".old" after it, as perf does. Throws
/// SystemFailure, or Refused if it is neither.
void keep_old_recording(const files::Place& place);

}  // namespace sframe_gen::trace
