#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "trace/walk/address_space.hpp"

struct Dwfl;

namespace sframe_gen::trace {

/// Files where libdwfl was told that they are. To it, all from a file's first segment to its last is that file's, so
/// here are none that lie over each other: one that has another in a hole between its segments, a file that is mapped
/// twice, those of different programs.
class DwarfFiles {
 public:
  DwarfFiles();
  ~DwarfFiles();
  DwarfFiles(const DwarfFiles&) = delete;
  DwarfFiles& operator=(const DwarfFiles&) = delete;

  Dwfl* dwfl() const { return dwfl_; }
  std::size_t count() const { return files_.size(); }
  /// Not null, if there is one.
  const CodeFile* first() const { return files_.front().file; }

  /// Has libdwfl find at `pc` the file that the address space has there, if it has one. False: another is in the way.
  bool put(AddressSpace& space, std::uint64_t pc);

  bool is_attached = false;  ///< to what hands out registers and memory

 private:
  struct File {
    const CodeFile* file;
    std::uint64_t bias;
    std::uint64_t begin, end;  ///< what libdwfl takes for its own
  };

  bool is_free(const File& file) const;
  bool report(const File& file, bool is_file, std::uint64_t pc);

  Dwfl* dwfl_ = nullptr;
  std::deque<File> files_;
};

}  // namespace sframe_gen::trace
