#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "sframe_gen/unwind.hpp"
#include "trace/walk/address_space.hpp"

struct Dwfl;

namespace sframe_gen::trace::walk {

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
  const CodeFile* first() const { return files_.front().file.get(); }

  /// Has libdwfl find at `pc` the file that the address space has there, if it has one. False: another is in the way.
  bool put(AddressSpace& space, std::uint64_t pc);

  bool is_attached = false;  ///< to what hands out registers and memory

 private:
  struct File {
    std::shared_ptr<const CodeFile> file;
    std::uint64_t bias;
    std::uint64_t begin, end;  ///< what libdwfl takes for its own
  };

  bool is_free(const File& file) const;
  bool report(const File& file, bool is_file, std::uint64_t pc);

  Dwfl* dwfl_ = nullptr;
  std::deque<File> files_;
};

}  // namespace sframe_gen::trace::walk

struct Dwfl_Frame;
struct Dwfl_Thread;

namespace sframe_gen::trace::walk {

/// Frames that DWARF leads to, the innermost first.
struct DwarfStack {
  std::vector<Frame> frames;
  /// Why there are no more; nothing: the last one is the outermost.
  std::optional<std::string> cut;
  bool memory_ends = false;  ///< it is cut as memory cannot be read
};

/// Walks by the call frame information of the same files, from the same registers and bytes, with code that has nothing
/// in common with ours: libdwfl of elfutils. Its guesses by frame pointers, where there is no such information, are not
/// taken.
class DwarfWalker {
 public:
  explicit DwarfWalker(std::size_t most_frames) : most_frames_(most_frames) {}
  ~DwarfWalker() = default;
  DwarfWalker(const DwarfWalker&) = delete;
  DwarfWalker& operator=(const DwarfWalker&) = delete;

  DwarfStack walk(AddressSpace& space, const unwind::Registers& registers, unwind::ReadMemory read, void* context);

 private:
  struct Walk;
  struct Callbacks;

  DwarfFiles& files_at(AddressSpace& space, std::uint64_t pc);
  void walk_on(Walk& walk);
  bool attach(Walk& walk);
  int take_frame(Walk& walk, Dwfl_Frame* frame);

  std::size_t most_frames_;
  Walk* now_ = nullptr;
  std::deque<DwarfFiles> files_;
};

}  // namespace sframe_gen::trace::walk
