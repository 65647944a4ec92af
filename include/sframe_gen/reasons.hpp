#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sframe_gen/visibility.h"

SFRAME_GEN_BEGIN_CXX

/// What rows are made from, and why code has none.
namespace sframe_gen {

/// Why PCs have no SFrame row. Not an error: coverage counts and names them. unrepresentable.def has the list, to which
/// later versions add.
enum class Unrepresentable : std::uint8_t {
#define SFRAME_GEN_REASON(name, key, sentence) name,
#include "sframe_gen/unrepresentable.def"
#undef SFRAME_GEN_REASON
};

/// PCs of a function that no row covers.
struct CoverageHole {
  std::uint64_t begin, end;  ///< virtual addresses
  Unrepresentable reason;
  friend bool operator==(const CoverageHole&, const CoverageHole&) = default;
};

/// An FDE that cannot be read, so the PCs it describes are unknown.
struct UnreadableFde {
  std::string section;
  std::uint64_t offset = 0;  ///< in it
  std::string why;           ///< ".eh_frame+0x8: CIE version is 2, not 1, 3 or 4"
};

/// Counts of FDEs that are dropped, by reason: they describe nothing the program can run, or cannot be read.
struct DroppedFdes {
  std::uint64_t empty = 0;         ///< size 0
  std::uint64_t outside_code = 0;  ///< discarded functions (start 0 or another tombstone), or beyond their section
  std::uint64_t duplicate = 0;     ///< same PCs and same rows as another FDE: counted once
  std::uint64_t shadowed = 0;      ///< .debug_frame for PCs that .eh_frame describes
  std::uint64_t of_go = 0;       ///< of Go's linker, which are wrong, for PCs that its function table does not tell of
  std::uint64_t unreadable = 0;  ///< those of a CIE that cannot be read, and damaged ones
  std::vector<UnreadableFde> named_unreadable = {};  ///< the first of them
};

/// What the rows of some code are made from.
enum class RowSource : std::uint8_t {
  EhFrame,       ///< CFI in .eh_frame
  DebugFrame,    ///< CFI in .debug_frame
  GoTable,       ///< the function table of Go's linker, .gopclntab, with the instructions
  Instructions,  ///< the instructions alone: stubs
  Proof,         ///< the instructions alone: functions, each followed on every path
};

}  // namespace sframe_gen

SFRAME_GEN_END_CXX
