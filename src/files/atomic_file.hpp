#pragma once

#include <atomic>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "support/mapped_file.hpp"

namespace sframe_gen::files {

/// An empty file to read and write that no folder lists, and that is gone with the last who has it open. Lies in
/// `folder`, or where that cannot be, in memory. Throws SystemFailure.
class UnnamedFile {
 public:
  explicit UnnamedFile(const std::filesystem::path& folder);
  ~UnnamedFile();
  UnnamedFile(const UnnamedFile&) = delete;
  UnnamedFile& operator=(const UnnamedFile&) = delete;

  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

/// The name of a file that must not outlive the program: removed by the destructor, or by a signal handler where
/// `remove_temporary_files_on_signals` was called.
class TemporaryFile {
 public:
  /// Allocates nothing: the file exists already.
  explicit TemporaryFile(std::string&& path) noexcept;
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  TemporaryFile(TemporaryFile&&) = delete;
  TemporaryFile& operator=(TemporaryFile&&) = delete;

  const std::string& path() const { return path_; }
  /// The file is gone or has another name: there is nothing to remove any more.
  void forget();

 private:
  void leave_slot();

  std::string path_;
  std::atomic<const char*>* slot_;  ///< where the signal handler finds the path; null: nowhere
};

/// Held while a file is made and its TemporaryFile: a signal that ends the program waits for it, and nothing is made
/// when one has come.
class MakingFile {
 public:
  MakingFile();
  ~MakingFile();
  MakingFile(const MakingFile&) = delete;
  MakingFile& operator=(const MakingFile&) = delete;
  MakingFile(MakingFile&&) = delete;
  MakingFile& operator=(MakingFile&&) = delete;

 private:
  sigset_t before_{};
};

/// Installs handlers for the signals that end programs from outside; the signal then ends this one as it would have.
/// SIGBUS, which reading a mapped file gives when that gets shorter, is reported and ends it with status 1.
void remove_temporary_files_on_signals();

/// A file that appears under its name complete or not at all: a temporary file in the same folder, renamed over the
/// target by `commit` and removed if that never comes. We do not fsync; the installer does.
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
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  AtomicFile(AtomicFile&&) = delete;
  AtomicFile& operator=(AtomicFile&&) = delete;

  int descriptor() const { return descriptor_; }

  /// Mode, owner, access control lists, file capabilities and other extended attributes of the file that is
  /// replaced; where there is none, as `New` says. To be called when the contents are written, since the kernel takes
  /// setuid bits and capabilities away from a file that is written to.
  void take_attributes();
  /// Throws Refused when somebody changed input or target meanwhile: their change would be lost.
  void commit();

 private:
  std::optional<FileIdentity> target_now() const;
  void create_temporary_file();
  void check_unchanged() const;
  void copy_extended_attributes(int source, bool is_new) const;

  const MappedFile& input_;
  New kind_;
  std::filesystem::path target_;
  std::optional<FileIdentity> target_before_;
  std::optional<TemporaryFile> temporary_;
  int descriptor_ = -1;
};

}  // namespace sframe_gen::files
