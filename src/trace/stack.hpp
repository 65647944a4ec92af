#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sframe_gen/unwind.hpp"
#include "trace/address_space.hpp"

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

  bool is_whole() const { return stop == unwind::Stop::Outermost; }
};

/// Rows by PC that walks of one address space have in common.
using RememberedRows = std::vector<unwind::RowSlot>;
constexpr std::size_t remembered_rows = 4096;

/// From `registers` outwards, `most` frames at most. Files are opened, and their sections made, as PCs lead to them.
Stack walk(AddressSpace& space, RememberedRows& rows, unwind::Registers registers, unwind::ReadMemory read,
           void* context, std::size_t most);

}  // namespace sframe_gen::trace
