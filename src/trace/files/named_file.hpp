#pragma once

#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "support/mapped_file.hpp"

namespace sframe_gen::trace {

/// A file that others name: a program by what it maps or by a link in its file, a recording or a core file.
struct NamedFile {
  /// Begins at the root: of the process, or that is kept to, or else of this system. Empty: it is known by its place.
  std::string path;
  int process = 0;                      ///< whose file it is; 0: of none that runs
  std::uint64_t begin = 0, end = 0;     ///< where the process maps it; equal: the place is not known
  std::uint64_t device = 0, inode = 0;  ///< that it must have, as a mapping has them; no inode: any file
  bool may_be_link = true;              ///< its last part
};

/// A file that was opened, or why not.
struct OpenFile {
  static constexpr int not_regular = -1, no_answer = -2;

  Descriptor file{};
  struct stat status {};  ///< the file's own, also where `file` is a copy
  int error = 0;          ///< errno, or one of the above; 0: it is open
};

/// Opens a regular file for reading, or says why not. It may take for ever to answer. `root`: a directory that is open,
/// and that no name leads out of; negative: none. Files of file systems that programs serve (FUSE) are copied to
/// memory, if that ends before `until`: they need not answer when a mapped page is read.
OpenFile open_named_file(const NamedFile& file, int root, std::chrono::steady_clock::time_point until);

}  // namespace sframe_gen::trace
