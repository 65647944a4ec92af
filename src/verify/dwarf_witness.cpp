#include "verify/dwarf_witness.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "verify/frame_sections.hpp"

namespace sframe_gen::verify {

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

}  // namespace sframe_gen::verify
