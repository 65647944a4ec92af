#pragma once

#include <cstdint>
#include <optional>

#include "support/range.hpp"
#include "verify/dwarf_witness.hpp"
#include "verify/go_frames.hpp"
#include "verify/testimony.hpp"

namespace sframe_gen::verify {

/// Judges rows by the function table of Go's linker. Where .debug_frame describes the code as well, that must agree,
/// except for the frame pointer and for functions without a caller, which only the table marks.
class GoWitness {
 public:
  /// Both must outlive the object. Threads may share the table.
  GoWitness(const GoFrames& frames, DwarfWitness& dwarf) : frames_(frames), dwarf_(dwarf) {}

  /// Judges the row at the first of `pcs`. Returns up to where the judgement holds; no value for code that the table
  /// does not tell of. Throws MalformedInput if libdwarf cannot evaluate .debug_frame.
  std::optional<std::uint64_t> judge(const JudgedRow& row, const Range& pcs, Testimony& testimony);
  /// Returns the lowest start or end of a function above `pc`; the highest address if there is none.
  std::uint64_t boundary_after(std::uint64_t pc) const { return frames_.boundary_after(pc); }

 private:
  const GoFrames& frames_;
  DwarfWitness& dwarf_;
};

}  // namespace sframe_gen::verify
