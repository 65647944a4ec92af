#pragma once

#include <filesystem>
#include <string>

#include "files/new_file.hpp"
#include "support/mapped_file.hpp"

namespace sframe_gen::trace {

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
