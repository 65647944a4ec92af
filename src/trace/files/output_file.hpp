#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <ostream>

#include "files/new_file.hpp"

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

}  // namespace sframe_gen::trace
