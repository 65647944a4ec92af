#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "sframe_gen/unwind.hpp"
#include "trace/walk/address_space.hpp"
#include "trace/walk/dwarf_files.hpp"
#include "trace/walk/frame.hpp"

struct Dwfl_Frame;
struct Dwfl_Thread;

namespace sframe_gen::trace {

/// Linux gives programs 48 bits of address on aarch64; what a signature may take of the others, but for bit 55 and the
/// tag in the highest byte.
inline constexpr std::uint64_t signature_mask = 0x007f'0000'0000'0000;

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

}  // namespace sframe_gen::trace
