#include "verify/instruction_witness.hpp"

#include <algorithm>
#include <iterator>

namespace sframe_gen::verify {

namespace {

std::vector<std::uint64_t> starts_of(const sframe::Section& section) {
  std::vector<std::uint64_t> starts;
  for (const sframe::Fde& fde : section.fdes) starts.push_back(fde.start);
  std::ranges::sort(starts);
  return starts;
}

/// Returns the FDEs of tables of stubs, for a file without section headers.
std::vector<Range> tables_among(const std::vector<Range>& described, const elf::Image& image, DwarfWitness& dwarf,
                                const sframe::AbiTraits& abi) {
  std::vector<Range> tables;
  if (image.has_section_headers()) return tables;
  std::ranges::copy_if(described, std::back_inserter(tables),
                       [&](const Range& range) { return dwarf.is_described_by_pc(range.end - 1, abi); });
  return tables;
}

}  // namespace

InstructionWitness::InstructionWitness(const sframe::Section& section, const elf::Image& image,
                                       const std::vector<Range>& described, DwarfWitness& dwarf)
    : image_(image),
      dwarf_(dwarf),
      emulation_(image, sframe::traits_of(section.abi),
                 code_to_follow(section, image, described,
                                tables_among(described, image, dwarf, sframe::traits_of(section.abi))),
                 starts_of(section)) {}

std::optional<std::uint64_t> InstructionWitness::judge(const JudgedRow& row, const Range& pcs, Testimony& testimony) {
  const std::uint64_t pc = pcs.begin, end = std::min(pcs.end, emulation_.boundary_after(pc));
  switch (emulation_.knowledge_of(pc)) {
    case Emulation::Knowledge::None:
      return std::nullopt;
    case Emulation::Knowledge::Unreachable:
      return end;
    case Emulation::Knowledge::NeverEntered:
      return dwarf_.describes(pc) ? std::nullopt : std::optional(end);
    case Emulation::Knowledge::State:
      break;
  }
  ++testimony.result.checked_pcs;
  const Caller expected = emulation_.caller_at(pc);
  if (row.fde.signal_frame) testimony.differ_about_signal_frame(pc, Verification::Witness::Instructions, row);
  if (same_caller(expected, row.caller_at(pc, Wording::Numbers))) return end;
  if (has_better_fde(row, pc)) return std::nullopt;
  testimony.differ(pc, Verification::Witness::Instructions, row.caller_at(pc), expected);
  return end;
}

/// Without section headers, nothing tells that code is a stub. Its FDE may judge if it does not describe a table.
bool InstructionWitness::has_better_fde(const JudgedRow& row, std::uint64_t pc) {
  return !image_.has_section_headers() && dwarf_.describes(pc) && !dwarf_.is_described_by_pc(pc, row.abi());
}

bool InstructionWitness::reaches(std::uint64_t begin, std::uint64_t end) const {
  for (std::uint64_t at = begin; at < end; at = emulation_.boundary_after(at))
    if (emulation_.knowledge_of(at) == Emulation::Knowledge::State) return true;
  return false;
}

}  // namespace sframe_gen::verify
