#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "support/mapped_file.hpp"

namespace sframe_gen::files {

/// Opens an empty file to read and write that no folder lists, and that is gone when it is closed. It is stored in the
/// file system of `folder` or, where that cannot be, in memory. Throws SystemFailure.
Descriptor open_unnamed(const std::filesystem::path& folder);

/// From now on, a file's contents reach the disk before it takes its name, and its name before a function of this
/// header returns. Without this, a system that loses power soon after may keep the new name of a file and none of its
/// bytes.
void write_through();

/// Where a file is: its directory, which is held open, and its name there. The owner of the directory may put a link to
/// another one in its place at any time.
class Place {
 public:
  /// Throws SystemFailure, which says that one cannot `verb` the file.
  Place(std::filesystem::path file, const char* verb);

  const std::filesystem::path& path() const { return path_; }
  int folder() const { return folder_.number(); }
  const char* name() const { return name_.c_str(); }
  /// Returns what has the name now, be it a link, or nothing.
  std::optional<FileIdentity> identity() const;

 private:
  std::filesystem::path path_;
  std::string name_;
  Descriptor folder_;
};

/// Returns whether `name` is that of a TemporaryFile, ".FILE.sframe-gen-PID-NUMBER": a run that was killed may have
/// left it.
bool is_temporary_name(std::string_view name);

/// A file with a temporary name, which must not outlive the program: removed by the destructor, or by a signal handler
/// where `remove_temporary_files_on_signals` was called.
class TemporaryFile {
 public:
  /// Makes a file with a new name beside `target` by `make`, which gets the name and returns what a system call
  /// returned. Throws SystemFailure, which says that one cannot `verb` the target.
  TemporaryFile(const Place& target, const char* verb, const std::function<int(const char*)>& make);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  TemporaryFile(TemporaryFile&&) = delete;
  TemporaryFile& operator=(TemporaryFile&&) = delete;

  /// Gives the file the target's name. Throws SystemFailure.
  void rename();
  /// A signal handler may call it.
  void remove() const { ::unlinkat(target_.folder(), name_.c_str(), 0); }

 private:
  const Place& target_;
  std::string name_;                                   ///< empty: there is nothing to remove
  std::atomic<const TemporaryFile*>* slot_ = nullptr;  ///< where the signal handler finds it; null: nowhere
};

/// A file that replaces `target` when its contents are complete, and has no name until then: whatever ends the program,
/// nothing is left. Where the file system has no such files (NFS), or /proc is missing, it is a TemporaryFile.
class NewFile {
 public:
  /// `mode`: as open() takes it, so that the umask counts. `target` must outlive the file. Throws SystemFailure.
  NewFile(const Place& target, mode_t mode);

  int descriptor() const { return file_.number(); }
  /// Returns whether others can find the file already.
  bool has_temporary_name() const { return temporary_.has_value(); }
  /// Waits until contents and attributes are on the disk, if `write_through` was called. Throws SystemFailure.
  void sync() const;
  /// Closes the file and gives it a temporary name, if it has none: from then on, it only has to be renamed. Throws
  /// SystemFailure.
  void take_temporary_name();
  /// Closes the file and gives it the target's name. A kill between the two system calls that this takes leaves a
  /// TemporaryFile: linkat() replaces no file, and only a file that has a name can be renamed. Throws SystemFailure.
  void replace_target();

 private:
  const Place& target_;
  Descriptor file_;
  Descriptor unnamed_;  ///< the same file, not open for reading or writing; none if it has a temporary name
  std::optional<TemporaryFile> temporary_;
};

/// Installs handlers for the signals that end programs from outside; the signal then ends this one as it would have.
/// SIGBUS, which reading a mapped file gives when that gets shorter, is reported and ends it with status 1.
void remove_temporary_files_on_signals();

}  // namespace sframe_gen::files
