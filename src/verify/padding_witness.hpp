#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "elf/image.hpp"
#include "support/range.hpp"
#include "verify/dwarf_witness.hpp"
#include "verify/go_frames.hpp"
#include "verify/instruction_witness.hpp"
#include "verify/testimony.hpp"

namespace sframe_gen::verify {

/// Judges rows that go on over code which never runs: any row is as good as another there.
class PaddingWitness {
 public:
  /// All must outlive the object.
  PaddingWitness(const elf::Image& image, const InstructionWitness& instructions, const GoFrames& go,
                 const DwarfWitness& dwarf);

  /// Returns where the padding ends that begins with `pcs` and fills them; no value if not all of it is padding, or if
  /// the row begins there: a row goes on over padding to the next function, and never begins there. Throws
  /// MalformedInput.
  std::optional<std::uint64_t> judge(const JudgedRow& row, const Range& pcs, Testimony& testimony) const;

 private:
  std::uint64_t end_of_segment(std::uint64_t pc) const;
  bool holds_function(const Range& pcs) const;

  const elf::Image& image_;
  const InstructionWitness& instructions_;
  const GoFrames& go_;
  const DwarfWitness& dwarf_;
  std::vector<std::uint64_t> function_starts_;  ///< ascending
};

}  // namespace sframe_gen::verify
