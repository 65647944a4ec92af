#pragma once

#include <atomic>
#include <csignal>
#include <string>

namespace sframe_gen::files {

/// The name of a file that must not outlive the program: removed by the destructor, or by a signal handler where
/// `remove_temporary_files_on_signals` was called.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string path);
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

}  // namespace sframe_gen::files
