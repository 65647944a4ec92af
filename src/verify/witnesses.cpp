#include "verify/witnesses.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

#include "elf/symbol_names.hpp"
#include "verify/frame_sections.hpp"
#include "verify/instruction.hpp"

namespace sframe_gen::verify {

namespace {

/// Names of more FDEs that libdwarf cannot read help no further.
constexpr std::size_t unchecked_kept = 10000;

}  // namespace

void Testimony::begin_row(const JudgedRow& row) {
  claimed.push_back(row.pcs);
  row_is_unchecked_ = false;
}

void Testimony::differ(Verification::Difference difference) {
  ++result.difference_count;
  if (result.differences.size() < differences_kept) result.differences.push_back(std::move(difference));
}

void Testimony::differ(std::uint64_t pc, Verification::Witness witness, const Caller& by_row, const Caller& expected) {
  differ({.pc = pc, .witness = witness, .found = by_row.text, .expected = expected.text});
}

void Testimony::differ_about_signal_frame(std::uint64_t pc, Verification::Witness witness, const JudgedRow& row) {
  differ({.pc = pc,
          .kind = Verification::Difference::Kind::SignalFrame,
          .witness = witness,
          .is_signal_frame = row.fde.signal_frame});
}

void Testimony::leave_unchecked(Verification::Difference unchecked) {
  if (!std::exchange(row_is_unchecked_, true)) ++result.unchecked_count;
  if (reasons_listed_.size() < unchecked_kept && reasons_listed_.insert(unchecked.expected).second)
    result.unchecked.push_back(std::move(unchecked));
}

DwarfWitness::DwarfWitness(const elf::Image& image, const elf::Image& cfi_image) {
  const bool has_debug_file = &cfi_image != &image;
  load(image, false);
  if (has_debug_file) load(cfi_image, true);
  may_lack_debug_frame_ = !has_debug_file;
  std::vector<Range> eh_frame;
  for (const DwarfSession& session : sessions_) {
    indices_.emplace_back(session, image);
    if (session.table().kind == CfiKind::EhFrame) indices_.back().add_ranges(eh_frame);
    if (session.table().kind == CfiKind::DebugFrame) may_lack_debug_frame_ = false;
  }
  proofs_.emplace(image, RangeSet(std::move(eh_frame)));
}

/// A debug file's .eh_frame does not count beside the file's own. An object may have several sections.
void DwarfWitness::load(const elf::Image& image, bool is_debug_file) {
  for (CfiSection& section : read_cfi_sections(image)) {
    if (section.kind == CfiKind::EhFrame && is_debug_file) continue;
    sections_.push_back(std::move(section));
    const CfiSection& kept = sections_.back();
    sessions_.emplace_back(kept.kind, kept.bytes, kept.address, image.endian(), kept.origin);
  }
}

std::optional<std::uint64_t> DwarfWitness::judge(const JudgedRow& row, const Range& pcs, Testimony& testimony) {
  const DescribingFdes fdes = fdes_at(pcs.begin);
  if (fdes.index == nullptr) return std::nullopt;
  std::uint64_t end = end_of_row(fdes, pcs);
  for (const std::size_t fde : fdes.numbers) {
    const Agreement agreement = compare(row, fdes.index->session(), fde, pcs.begin, testimony);
    if (agreement == Agreement::Different) break;
    if (agreement == Agreement::HereOnly) end = pcs.begin + 1;
    if (end - 1 == pcs.begin) continue;
    if (compare(row, fdes.index->session(), fde, end - 1, testimony) == Agreement::Different) break;
  }
  return end;
}

std::uint64_t DwarfWitness::judge_without_frame_pointer(const JudgedRow& row, const Range& pcs, Testimony& testimony) {
  const std::uint64_t pc = pcs.begin;
  const DescribingFdes fdes = fdes_at(pc);
  if (fdes.index == nullptr) return pcs.end;
  const std::uint64_t end = end_of_row(fdes, pcs);
  const Caller by_row = row.caller_at(pc);
  for (const std::size_t fde : fdes.numbers) {
    Caller expected = dwarf_caller(fdes.index->session(), fde, pc, row.abi(), *proofs_);
    expected.frame_pointer = by_row.frame_pointer;
    if (!same_caller(expected, by_row)) testimony.differ(pc, Verification::Witness::Dwarf, by_row, expected);
  }
  return end;
}

/// Returns where the DWARF's row at the first of `pcs` ends, at the end of `pcs` at the latest.
std::uint64_t DwarfWitness::end_of_row(const DescribingFdes& fdes, const Range& pcs) {
  std::uint64_t end = std::min(pcs.end, fdes.index->boundary_after(pcs.begin));
  for (const std::size_t fde : fdes.numbers) {
    const auto next = fdes.index->session().evaluate(fde, DwarfSession::cfa_column, pcs.begin).next_row_pc;
    if (next && *next > pcs.begin) end = std::min(end, *next);
  }
  return end;
}

DwarfWitness::Agreement DwarfWitness::compare(const JudgedRow& row, const DwarfSession& session, std::size_t fde,
                                              std::uint64_t pc, Testimony& testimony) {
  ++testimony.result.checked_pcs;
  const DwarfTable& table = session.table();
  if (row.is_wrong_about_signal_frame(table.cie_of(fde).signal_frame)) {
    testimony.differ_about_signal_frame(pc, Verification::Witness::Dwarf, row);
    return Agreement::Different;
  }
  const Caller expected = dwarf_caller(session, fde, pc, row.abi(), *proofs_, Wording::Numbers);
  if (same_caller(expected, row.caller_at(pc, Wording::Numbers)))
    return expected.depends_on_pc ? Agreement::HereOnly : Agreement::Same;
  if (const char* const misread = misread_by_libdwarf(table, fde))
    throw MalformedInput(table.origin, table.fdes[fde].section_offset, misread);
  testimony.differ(pc, Verification::Witness::Dwarf, row.caller_at(pc),
                   dwarf_caller(session, fde, pc, row.abi(), *proofs_));
  return Agreement::Different;
}

bool DwarfWitness::is_described_by_pc(std::uint64_t pc, const sframe::AbiTraits& abi) {
  const DescribingFdes fdes = fdes_at(pc);
  return std::ranges::any_of(fdes.numbers, [&](std::size_t fde) {
    const DwarfSession& session = fdes.index->session();
    try {
      return session.evaluate(fde, DwarfSession::cfa_column, pc).kind != EvaluatedRule::Kind::Offset &&
             dwarf_caller(session, fde, pc, abi, *proofs_, Wording::Numbers).depends_on_pc;
    } catch (const MalformedInput&) {
      return false;
    }
  });
}

DwarfWitness::DescribingFdes DwarfWitness::fdes_at(std::uint64_t pc) const {
  for (const FdeIndex& index : indices_) {
    std::vector<std::size_t> numbers = index.fdes_at(pc);
    if (!numbers.empty()) return {&index, std::move(numbers)};
  }
  return {};
}

std::uint64_t DwarfWitness::boundary_after(std::uint64_t pc) const {
  std::uint64_t next = std::numeric_limits<std::uint64_t>::max();
  for (const FdeIndex& index : indices_) next = std::min(next, index.boundary_after(pc));
  return next;
}

void DwarfWitness::add_ranges(std::vector<Range>& ranges) const {
  for (const FdeIndex& index : indices_) index.add_ranges(ranges);
}

void DwarfWitness::release_memory() {
  for (DwarfSession& session : sessions_) session.release_memory();
}

std::optional<std::uint64_t> GoWitness::judge(const JudgedRow& row, const Range& pcs, Testimony& testimony) {
  constexpr auto witness = Verification::Witness::GoTable;
  const std::uint64_t pc = pcs.begin;
  const auto answer = frames_.answer_at(pc);
  if (!answer) return std::nullopt;
  ++testimony.result.checked_pcs;
  const std::uint64_t end = std::min(pcs.end, answer->end);
  if (!answer->caller) {
    testimony.differ(
        {.pc = pc, .kind = Verification::Difference::Kind::NoCaller, .witness = witness, .expected = answer->why_none});
    return end;
  }
  const Caller by_row = row.caller_at(pc, Wording::Numbers);
  if (row.is_wrong_about_signal_frame(answer->is_called_by_handler)) {
    testimony.differ_about_signal_frame(pc, witness, row);
  } else if (!same_caller(*answer->caller, by_row)) {
    testimony.differ(pc, witness, row.caller_at(pc), *answer->caller);
  } else if (by_row.exists) {
    return dwarf_.judge_without_frame_pointer(row, {pc, end}, testimony);
  }
  return end;
}

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

const ProvedRows& ProofWitness::proved() {
  std::call_once(once_, [this] {
    if (prove_) proved_ = prove_();
  });
  return proved_;
}

std::string ProofWitness::why_none() {
  return proved().why_none;
}

std::optional<std::uint64_t> ProofWitness::judge(const JudgedRow& row, const Range& pcs, Testimony& testimony,
                                                 bool others_may_know) {
  const std::vector<sframe::PcRow>& rows = proved().rows;
  const auto after = std::ranges::upper_bound(rows, pcs.begin, {}, &sframe::PcRow::begin);
  if (after == rows.begin() || std::prev(after)->end <= pcs.begin) return std::nullopt;
  const sframe::PcRow& known = *std::prev(after);
  const auto expected = [&](Wording wording) {
    return sframe_caller(known.recovery, row.fde, row.section, pcs.begin, wording);
  };
  constexpr auto witness = Verification::Witness::Instructions;
  const bool is_wrong_mark = row.is_wrong_about_signal_frame(known.signal_frame);
  const bool is_right =
      !is_wrong_mark && same_caller(row.caller_at(pcs.begin, Wording::Numbers), expected(Wording::Numbers));
  if (!is_right && others_may_know) return std::nullopt;
  ++testimony.result.checked_pcs;
  if (is_wrong_mark) {
    testimony.differ_about_signal_frame(pcs.begin, witness, row);
  } else if (!is_right) {
    testimony.differ(pcs.begin, witness, row.caller_at(pcs.begin), expected(Wording::Texts));
  }
  return std::min(pcs.end, known.end);
}

}  // namespace sframe_gen::verify
