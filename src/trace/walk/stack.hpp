#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sframe_gen/unwind.hpp"
#include "trace/walk/address_space.hpp"
#include "trace/walk/dwarf_walker.hpp"

namespace sframe_gen::trace {

struct Frame {
  std::uint64_t pc = 0;
  /// Of the instruction, else a return address: its call is in front of it.
  bool pc_is_exact = true;

  std::uint64_t instruction() const { return pc_is_exact ? pc : pc - 1; }
};

/// The frames of a thread, the innermost first.
struct Stack {
  std::vector<Frame> frames;
  /// Why there are no more. Stepped: as many as were asked for.
  unwind::Stop stop = unwind::Stop::Stepped;
  /// Of the memory that could be read, there was a piece only.
  bool is_piece = false;
  /// The same stack, if it was walked by DWARF as well.
  std::optional<DwarfStack> by_dwarf{};

  bool is_whole() const { return stop == unwind::Stop::Outermost; }
};

/// What all walks of a run have in common.
class Walker {
 public:
  Walker(std::size_t most_frames, bool by_dwarf_as_well);

  /// From `registers` outwards. Files are opened, and their sections made, as PCs lead to them. Between walks of
  /// different address spaces, forget_rows().
  Stack walk(AddressSpace& space, const unwind::Registers& registers, unwind::ReadMemory read, void* context);
  void forget_rows() { rows_.clear(); }

 private:
  Stack walk_by_sections(AddressSpace& space, unwind::Registers registers, unwind::ReadMemory read, void* context);

  std::size_t most_frames_;
  std::vector<unwind::RowSlot> rows_;  ///< remembered by PC
  std::unique_ptr<DwarfWalker> dwarf_;
};

}  // namespace sframe_gen::trace
