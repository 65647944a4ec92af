#pragma once

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>

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

/// A file that must not outlive the program: removed by the destructor, or by a signal handler where
/// `remove_temporary_files_on_signals` was called.
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

/// Installs handlers for the signals that end programs from outside; the signal then ends this one as it would have.
/// SIGBUS, which reading a mapped file gives when that gets shorter, is reported and ends it with status 1.
void remove_temporary_files_on_signals();

/// A file that appears under its name complete or not at all: a temporary file in the same folder, renamed over the
/// target by `commit` and removed if that never comes. Without `write_through` nothing is fsynced; the installer does.
class AtomicFile {
 public:
  /// Whose attributes a file has that replaces none.
  enum class New : std::uint8_t {
    LikeInput,  ///< the contents are a new form of the input's
    LikeAny,    ///< they are of another kind: the mode that any new file has
  };

  /// `input` is what the contents are made from, and may be the target itself. A symbolic link is followed. Throws
  /// Refused when `target` is there and must not change, another Failure when it is no regular file, or SystemFailure.
  AtomicFile(const std::filesystem::path& target, const MappedFile& input, New kind = New::LikeInput);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  AtomicFile(AtomicFile&&) = delete;
  AtomicFile& operator=(AtomicFile&&) = delete;

  int descriptor() const { return file_.number(); }

  /// Mode, owner, access control lists, file capabilities and other extended attributes of the file that is
  /// replaced; where there is none, as `New` says. To be called when the contents are written, since the kernel takes
  /// setuid bits and capabilities away from a file that is written to.
  void take_attributes();
  /// Throws Refused if another process changed input or target meanwhile: that change would be lost.
  void commit();

 private:
  void check_unchanged() const;
  void copy_extended_attributes(int source, bool is_new) const;

  const MappedFile& input_;
  New kind_;
  Place target_;
  std::optional<FileIdentity> target_before_;
  std::optional<TemporaryFile> temporary_;
  Descriptor file_;
};

/// Writes `pieces` one after the other, made from `input`, to `output` as AtomicFile does: complete or not at all, with
/// the attributes of the file it replaces, which may be the input. Throws Refused or SystemFailure.
void replace_file(const std::filesystem::path& output, std::span<const std::span<const std::byte>> pieces,
                  const MappedFile& input, AtomicFile::New kind = AtomicFile::New::LikeInput);

/// Makes `name` another name of `file`, in place of the file `old` (its device and inode). Throws Refused if another
/// file has that name, or `file` another owner, or SystemFailure.
void replace_by_link(const std::filesystem::path& name, const std::filesystem::path& file,
                     const std::pair<dev_t, ino_t>& old);

}  // namespace sframe_gen::files
