#include "verify/padding_witness.hpp"

#include <algorithm>

#include "elf/symbol_names.hpp"
#include "verify/instruction.hpp"

namespace sframe_gen::verify {

PaddingWitness::PaddingWitness(const elf::Image& image, const InstructionWitness& instructions, const GoFrames& go,
                               const DwarfWitness& dwarf)
    : image_(image),
      instructions_(instructions),
      go_(go),
      dwarf_(dwarf),
      function_starts_(elf::function_starts(image)) {
  function_starts_.insert(function_starts_.end(), go.starts().begin(), go.starts().end());
  std::ranges::sort(function_starts_);
}

/// Boundaries of bytes that are no known instruction's are anywhere, so the last instruction may go on after `pcs`. It
/// ends where something else is known, or the file has no more code. Rows may end within it.
std::optional<std::uint64_t> PaddingWitness::judge(const JudgedRow& row, const Range& pcs, Testimony& testimony) const {
  const std::uint64_t pc = pcs.begin;
  if (pc == row.pcs.begin) return std::nullopt;
  const std::uint64_t limit =
      std::min({dwarf_.boundary_after(pc), go_.boundary_after(pc), std::max(row.pcs.end, end_of_segment(pc))});
  const auto instructions_end = padding_end(image_, row.section.abi, pc, pcs.end, limit);
  if (!instructions_end) return std::nullopt;
  const std::uint64_t end = std::min(*instructions_end, row.pcs.end);
  if (holds_function({pc, end}) || instructions_.reaches(pcs.end, end)) return std::nullopt;
  testimony.result.padding_bytes += end - pc;
  return end;
}

/// Whatever its instructions, a function that has a symbol is run.
bool PaddingWitness::holds_function(const Range& pcs) const {
  const auto function = std::ranges::lower_bound(function_starts_, pcs.begin);
  return function != function_starts_.end() && *function < pcs.end;
}

/// Returns where the bytes that the file has of the segment at `pc` end; 0: there is none.
std::uint64_t PaddingWitness::end_of_segment(std::uint64_t pc) const {
  for (const Elf64_Phdr& segment : image_.segments())
    if (segment.p_type == PT_LOAD && pc >= segment.p_vaddr && pc - segment.p_vaddr < segment.p_filesz)
      return segment.p_vaddr + segment.p_filesz;
  return 0;
}

}  // namespace sframe_gen::verify
