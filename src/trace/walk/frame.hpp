#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "trace/walk/opened_file.hpp"

namespace sframe_gen::trace {

/// What a PC led to in an address space. Says the same as long as it is there, whatever is mapped at that place later.
struct Location {
  std::string name;        ///< the mapping's path, fit to be printed
  OpenedFile opened;       ///< its file
  std::uint64_t bias = 0;  ///< what addresses are above those in the file; without a file: above offsets in it
};

/// They stay where they are.
using Locations = std::deque<Location>;

struct Frame {
  std::uint64_t pc = 0;
  /// Of the instruction, else a return address: its call is in front of it.
  bool pc_is_exact = true;
  /// Of the instruction; null: in no mapping. Belongs to the address space that was walked, and to its copies.
  const Location* location = nullptr;

  std::uint64_t instruction() const { return pc_is_exact ? pc : pc - 1; }
};

}  // namespace sframe_gen::trace
