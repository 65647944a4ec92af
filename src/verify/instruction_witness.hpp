#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "elf/image.hpp"
#include "sframe_gen/section.hpp"
#include "support/range.hpp"
#include "verify/dwarf_witness.hpp"
#include "verify/emulation.hpp"
#include "verify/testimony.hpp"

namespace sframe_gen::verify {

/// Judges rows by following the instructions of code so plain that this says where the caller is: stubs, and what
/// programs begin and end with.
class InstructionWitness {
 public:
  /// `described`: what FDEs and Go's function table describe. `image` and `dwarf` must outlive the object.
  InstructionWitness(const sframe::Section& section, const elf::Image& image, const std::vector<Range>& described,
                     DwarfWitness& dwarf);

  /// Judges the row at the first of `pcs`. Returns up to where the judgement holds; no value if the instructions do not
  /// tell, or an FDE may tell better.
  std::optional<std::uint64_t> judge(const JudgedRow& row, const Range& pcs, Testimony& testimony);
  /// Returns the first PC above `pc` of which something else may be known.
  std::uint64_t boundary_after(std::uint64_t pc) const { return emulation_.boundary_after(pc); }
  /// Checks whether control comes to an instruction in [begin, end). `begin` must be a boundary.
  bool reaches(std::uint64_t begin, std::uint64_t end) const;

 private:
  bool has_better_fde(const JudgedRow& row, std::uint64_t pc);

  const elf::Image& image_;
  DwarfWitness& dwarf_;
  Emulation emulation_;
};

}  // namespace sframe_gen::verify
