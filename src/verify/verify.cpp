#include "verify/verify.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "elf/symbol_names.hpp"
#include "object/sframe_sections.hpp"
#include "sframe/format.hpp"
#include "sframe/lookup.hpp"
#include "sframe_gen/lookup.hpp"
#include "support/range.hpp"
#include "support/text.hpp"
#include "support/workers.hpp"
#include "verify/caller.hpp"
#include "verify/emulation.hpp"
#include "verify/frame_sections.hpp"
#include "verify/go_frames.hpp"
#include "verify/instruction.hpp"
#include "verify/libdwarf.hpp"

namespace sframe_gen::verify {

namespace {

constexpr std::size_t differences_kept = 20;
/// Names of more FDEs that libdwarf cannot read help no further.
constexpr std::size_t unchecked_kept = 10000;
constexpr std::uint64_t functions_per_progress = 256;
constexpr std::uint64_t functions_per_release = 16384;  ///< bounds libdwarf's memory
constexpr const char* without_debug_frame =
    "no FDE describes this PC, and there is no .debug_frame (if it was stripped, name the debug file with --cfi-from)";
/// Below this, another thread's libdwarf takes longer to read the section than it saves.
constexpr std::size_t functions_per_thread = 4096;

using Difference = Verification::Difference;
using Witness = Verification::Witness;
using Progress = std::function<void(std::uint64_t, std::uint64_t)>;

class Verifier {
 public:
  Verifier(const elf::Image& image, const elf::Image& cfi_image, const GoFrames& go)
      : image_(image), go_(go), code_(image.code()), function_starts_(elf::function_starts(image)) {
    function_starts_.insert(function_starts_.end(), go.starts().begin(), go.starts().end());
    std::ranges::sort(function_starts_);
    const bool has_debug_file = &cfi_image != &image;
    load(image);
    if (has_debug_file) load(cfi_image);
    if (has_debug_file && sessions_.empty() && go_.empty())
      throw Refused(cfi_image.name(), "no call frame information to verify against");
    const auto is_debug_frame = [](const DwarfSession& session) { return session.table().kind == CfiKind::DebugFrame; };
    may_lack_debug_frame_ = !has_debug_file && std::ranges::none_of(sessions_, is_debug_frame);
    std::vector<Range> eh_frame;
    for (const DwarfSession& session : sessions_) {
      indices_.emplace_back(session, image);
      if (session.table().kind == CfiKind::EhFrame) indices_.back().add_ranges(eh_frame);
    }
    proofs_.emplace(image, RangeSet(std::move(eh_frame)));
  }

  /// What one thread has found out.
  struct Found {
    Verification result;
    std::vector<Range> claimed;
  };

  /// Checks descriptors [begin, end).
  Found run(const sframe::Section& section, std::size_t begin, std::size_t end, const Progress& progress) {
    std::vector<std::uint64_t> starts;
    for (const sframe::Fde& fde : section.fdes) starts.push_back(fde.start);
    std::ranges::sort(starts);
    const std::vector<Range> fdes = this->fdes();
    emulation_.emplace(image_, sframe::traits_of(section.abi),
                       code_to_follow(section, image_, fdes, tables_among(fdes, section.abi)), starts);
    std::uint64_t since_release = 0;
    for (const sframe::Fde& fde : std::span(section.fdes).subspan(begin, end - begin)) {
      if (result_.functions++ % functions_per_progress == 0 && progress) progress(result_.functions, end - begin);
      if (++since_release == functions_per_release) {
        for (DwarfSession& open_session : sessions_) open_session.release_memory();
        since_release = 0;
      }
      check_function(fde, section);
    }
    return {std::move(result_), std::move(claimed_)};
  }

  void count_coverage(const RangeSet& claimed, Verification& result) const {
    const RangeSet described(fdes()), left_out = described.without(claimed);
    result.described_bytes = described.size();
    result.claimed_bytes = result.described_bytes - left_out.size();
    result.left_out_rows = left_out.ranges().size();
  }

 private:
  void load(const elf::Image& image) {
    for (CfiSection& section : read_cfi_sections(image)) {
      // Not that of a debug file beside the file's own; an object may have several.
      if (section.kind == CfiKind::EhFrame && &image != &image_) continue;
      sections_.push_back(std::move(section));
      const CfiSection& kept = sections_.back();
      sessions_.emplace_back(kept.kind, kept.bytes, kept.address, image.endian(), kept.origin);
    }
  }

  /// What FDEs describe, and Go's function table.
  std::vector<Range> fdes() const {
    std::vector<Range> described;
    for (const FdeIndex& index : indices_) index.add_ranges(described);
    go_.add_ranges(described);
    return described;
  }

  void check_function(const sframe::Fde& fde, const sframe::Section& section) {
    result_.rows += fde.fres.size();
    if (fde.size != 0 && !is_code(fde.start, fde.start + fde.size, section.abi)) {
      differ({.pc = fde.start, .kind = Difference::Kind::NotCode, .size = fde.size});
      return;
    }
    const auto check = [&](std::uint64_t begin, std::uint64_t end, const sframe::Fre& fre) {
      claimed_.push_back({fde.start + begin, fde.start + end});
      row_is_unchecked_ = false;
      try {
        check_interval(claimed_.back(), fre, fde, section);
      } catch (const MalformedInput& failure) {
        // libdwarf 20210528 does not know every opcode (DW_CFA_GNU_negative_offset_extended), nor registers beyond
        // its table, and misreads others (frame_sections.hpp). What it cannot evaluate is not verified, but the rest
        // can be.
        leave_unchecked({.pc = claimed_.back().begin, .kind = Difference::Kind::Unchecked, .expected = failure.what()});
      }
    };
    if (sframe::is_outermost_throughout(fde, section.version)) {
      check(0, fde.size, sframe::Fre{});
    } else {
      sframe::for_each_interval(fde, check);
    }
  }

  /// The code may be in several sections if only padding is between them, over which rows may go on.
  bool is_code(std::uint64_t begin, std::uint64_t end, sframe::Abi abi) const {
    std::uint64_t pc = begin;
    for (auto code = code_.find(pc); pc < end; pc = code++->end) {
      if (code == code_.end()) return false;
      if (!code->contains(pc) && (pc == begin || !is_padding(image_, abi, pc, code->begin))) return false;
    }
    return true;
  }

  /// Walks the stretch [begin, end) of one row in steps over which the DWARF does not change either.
  void check_interval(const Range& range, const sframe::Fre& fre, const sframe::Fde& fde,
                      const sframe::Section& section) {
    std::uint64_t pc = range.begin;
    while (pc < range.end) {
      const std::uint64_t judged = judge_by_instructions(pc, range.end, fre, fde, section);
      if (judged != pc) {
        pc = judged;
        continue;
      }
      if (const auto answer = go_.answer_at(pc)) {
        pc = judge_by_go(*answer, pc, range.end, fre, fde, section);
        continue;
      }
      const FdeIndex* const index = index_at(pc);
      if (index == nullptr) {
        // A row goes on over padding to the next function, and never begins there.
        const auto end = pc == range.begin ? std::nullopt : end_of_padding(pc, range.end, section.abi);
        if (!end && !may_lack_debug_frame_) {
          differ({.pc = pc, .kind = Difference::Kind::NoFde});
          return;
        }
        if (end) {
          result_.padding_bytes += *end - pc;
        } else {
          leave_unchecked({.pc = pc, .kind = Difference::Kind::NoFde, .expected = without_debug_frame});
        }
        pc = end ? *end : std::min(range.end, next_known(pc));
        continue;
      }
      std::uint64_t next =
          std::min({range.end, index->boundary_after(pc), emulation_->boundary_after(pc), go_.boundary_after(pc)});
      for (const std::size_t dwarf_fde : index->fdes_at(pc)) {
        const auto row_end = index->session().evaluate(dwarf_fde, DwarfSession::cfa_column, pc).next_row_pc;
        if (row_end && *row_end > pc) next = std::min(next, *row_end);
      }
      for (const std::size_t dwarf_fde : index->fdes_at(pc)) {
        const Outcome outcome = check_pc(*index, dwarf_fde, pc, fre, fde, section);
        if (outcome == Outcome::Different) break;
        if (outcome == Outcome::SameHere) next = pc + 1;
        if (next - 1 == pc) continue;
        if (check_pc(*index, dwarf_fde, next - 1, fre, fde, section) == Outcome::Different) break;
      }
      pc = next;
    }
  }

  /// Up to where something else is known, or after the instruction that goes on there: boundaries of bytes that are no
  /// known instruction's stand anywhere. No value: not all of it is padding.
  std::optional<std::uint64_t> end_of_padding(std::uint64_t pc, std::uint64_t row_end, sframe::Abi abi) const {
    // Rows may end within the last instruction.
    const std::uint64_t limit =
        std::min({next_described(pc), go_.boundary_after(pc), std::max(row_end, end_of_segment(pc))});
    const std::uint64_t boundary = std::min({row_end, limit, emulation_->boundary_after(pc)});
    auto end = padding_end(image_, abi, pc, boundary, limit);
    if (end) *end = std::min(*end, row_end);
    // Whatever its instructions, a function that has a symbol is run.
    const auto function = std::ranges::lower_bound(function_starts_, pc);
    if (end && function != function_starts_.end() && *function < *end) return std::nullopt;
    for (std::uint64_t at = boundary; end && at < *end; at = emulation_->boundary_after(at))
      if (emulation_->knowledge_of(at) == Emulation::Knowledge::State) return std::nullopt;
    return end;
  }

  /// The PC up to which following the instructions from the row's `pc` on has judged it: `pc` where they say nothing.
  std::uint64_t judge_by_instructions(std::uint64_t pc, std::uint64_t end, const sframe::Fre& fre,
                                      const sframe::Fde& fde, const sframe::Section& section) {
    const Emulation::Knowledge knowledge = emulation_->knowledge_of(pc);
    if (knowledge == Emulation::Knowledge::None) return pc;
    const std::uint64_t next = std::min(end, emulation_->boundary_after(pc));
    if (knowledge == Emulation::Knowledge::NeverEntered && index_at(pc) != nullptr) return pc;
    if (knowledge != Emulation::Knowledge::State) return next;
    ++result_.checked_pcs;
    const Caller expected = emulation_->caller_at(pc);
    const Caller found = sframe_caller(fre.recovery, fde, section, pc);
    if (fde.signal_frame) differ_about_signal_frame(pc, Witness::Instructions, fde);
    if (same_caller(expected, found)) return next;
    if (is_described_without_names(pc, section.abi)) return pc;
    differ(pc, Witness::Instructions, found, expected);
    return next;
  }

  /// Without section headers, nothing tells that code is a stub. Its FDE may judge if it does not describe a table.
  bool is_described_without_names(std::uint64_t pc, sframe::Abi abi) {
    return !image_.has_section_headers() && index_at(pc) != nullptr && !is_described_by_pc(pc, abi);
  }

  /// Whether a rule reads the PC, as GNU ld's expression for a PLT does.
  bool is_described_by_pc(std::uint64_t pc, sframe::Abi abi) {
    const FdeIndex* const index = index_at(pc);
    if (index == nullptr) return false;
    return std::ranges::any_of(index->fdes_at(pc), [&](std::size_t fde) {
      const DwarfSession& session = index->session();
      try {
        return session.evaluate(fde, DwarfSession::cfa_column, pc).kind != EvaluatedRule::Kind::Offset &&
               dwarf_caller(session, fde, pc, sframe::traits_of(abi), *proofs_, Wording::Numbers).depends_on_pc;
      } catch (const MalformedInput&) {
        return false;
      }
    });
  }

  /// Returns the FDEs of tables of stubs, for a file without section headers.
  std::vector<Range> tables_among(const std::vector<Range>& fdes, sframe::Abi abi) {
    std::vector<Range> tables;
    if (image_.has_section_headers()) return tables;
    std::ranges::copy_if(fdes, std::back_inserter(tables),
                         [&](const Range& range) { return is_described_by_pc(range.end - 1, abi); });
    return tables;
  }

  /// Returns the PC up to which the function table of Go has judged the row's `pc`. Where .debug_frame describes it as
  /// well, that must agree, but for the frame pointer, which Go's linker calls unchanged where it is saved, and for
  /// functions without a caller, which only the table marks.
  std::uint64_t judge_by_go(const GoFrames::Answer& answer, std::uint64_t pc, std::uint64_t row_end,
                            const sframe::Fre& fre, const sframe::Fde& fde, const sframe::Section& section) {
    ++result_.checked_pcs;
    std::uint64_t next = std::min({row_end, answer.end, emulation_->boundary_after(pc)});
    const Caller found = sframe_caller(fre.recovery, fde, section, pc);
    if (!answer.caller) {
      differ({.pc = pc, .kind = Difference::Kind::NoCaller, .witness = Witness::GoTable, .expected = answer.why_none});
      return next;
    }
    const bool can_mark_it = sframe::traits_of(section.version).marks_signal_frames;
    if (can_mark_it && answer.is_called_by_handler != fde.signal_frame) {
      differ_about_signal_frame(pc, Witness::GoTable, fde);
    } else if (!same_caller(*answer.caller, found)) {
      differ(pc, Witness::GoTable, found, *answer.caller);
    } else if (const FdeIndex* const index = index_at(pc); index != nullptr && found.exists) {
      next = std::min(next, index->boundary_after(pc));
      for (const std::size_t dwarf_fde : index->fdes_at(pc)) {
        const auto row_end_there = index->session().evaluate(dwarf_fde, DwarfSession::cfa_column, pc).next_row_pc;
        if (row_end_there && *row_end_there > pc) next = std::min(next, *row_end_there);
        Caller by_dwarf = dwarf_caller(index->session(), dwarf_fde, pc, sframe::traits_of(section.abi), *proofs_);
        by_dwarf.frame_pointer = found.frame_pointer;
        if (!same_caller(by_dwarf, found)) differ(pc, Witness::Dwarf, found, by_dwarf);
      }
    }
    return next;
  }

  /// SameHere: nothing is known of the next PC, though it is in the same row of the DWARF's table.
  enum class Outcome : std::uint8_t { Same, SameHere, Different };

  Outcome check_pc(const FdeIndex& index, std::size_t dwarf_fde, std::uint64_t pc, const sframe::Fre& fre,
                   const sframe::Fde& fde, const sframe::Section& section) {
    ++result_.checked_pcs;
    const DwarfTable& table = index.session().table();
    const bool signal_frame = table.cie_of(dwarf_fde).signal_frame;
    const bool can_mark_it = sframe::traits_of(section.version).marks_signal_frames;
    if (signal_frame != fde.signal_frame && can_mark_it) {
      differ_about_signal_frame(pc, Witness::Dwarf, fde);
      return Outcome::Different;
    }
    const auto expect = [&](Wording wording) {
      return dwarf_caller(index.session(), dwarf_fde, pc, sframe::traits_of(section.abi), *proofs_, wording);
    };
    const Caller expected = expect(Wording::Numbers);
    if (same_caller(expected, sframe_caller(fre.recovery, fde, section, pc, Wording::Numbers)))
      return expected.depends_on_pc ? Outcome::SameHere : Outcome::Same;
    if (const char* const misread = misread_by_libdwarf(table, dwarf_fde))
      throw MalformedInput(table.origin, table.fdes[dwarf_fde].section_offset, misread);
    differ(pc, Witness::Dwarf, sframe_caller(fre.recovery, fde, section, pc), expect(Wording::Texts));
    return Outcome::Different;
  }

  /// .eh_frame where it says anything, else .debug_frame.
  const FdeIndex* index_at(std::uint64_t pc) const {
    const auto holds = [&](const FdeIndex& index) { return !index.fdes_at(pc).empty(); };
    const auto found = std::find_if(indices_.begin(), indices_.end(), holds);
    return found == indices_.end() ? nullptr : &*found;
  }

  /// Where the bytes that the file has of the segment at `pc` end; 0: there is none.
  std::uint64_t end_of_segment(std::uint64_t pc) const {
    for (const Elf64_Phdr& segment : image_.segments())
      if (segment.p_type == PT_LOAD && pc >= segment.p_vaddr && pc - segment.p_vaddr < segment.p_filesz)
        return segment.p_vaddr + segment.p_filesz;
    return 0;
  }

  std::uint64_t next_described(std::uint64_t pc) const {
    std::uint64_t next = std::numeric_limits<std::uint64_t>::max();
    for (const FdeIndex& index : indices_) next = std::min(next, index.boundary_after(pc));
    return next;
  }

  /// Where anything else may be known than at `pc`, which no FDE describes.
  std::uint64_t next_known(std::uint64_t pc) const {
    return std::min({next_described(pc), go_.boundary_after(pc), emulation_->boundary_after(pc)});
  }

  void differ(Difference difference) {
    ++result_.difference_count;
    if (result_.differences.size() < differences_kept) result_.differences.push_back(std::move(difference));
  }

  void differ(std::uint64_t pc, Witness witness, const Caller& found, const Caller& expected) {
    differ({.pc = pc, .witness = witness, .found = found.text, .expected = expected.text});
  }

  void differ_about_signal_frame(std::uint64_t pc, Witness witness, const sframe::Fde& fde) {
    differ({.pc = pc, .kind = Difference::Kind::SignalFrame, .witness = witness, .is_signal_frame = fde.signal_frame});
  }

  /// The reason names the FDE, so that the next row of it has the same.
  void leave_unchecked(Difference unchecked) {
    if (!std::exchange(row_is_unchecked_, true)) ++result_.unchecked_count;
    if (unchecked_.size() < unchecked_kept && unchecked_.insert(unchecked.expected).second)
      result_.unchecked.push_back(std::move(unchecked));
  }

  const elf::Image& image_;
  const GoFrames& go_;
  RangeSet code_;
  std::vector<CfiSection> sections_;
  std::vector<DwarfSession> sessions_;
  std::vector<FdeIndex> indices_;
  /// Rows come from .debug_frame as well, which strip removes. Then nothing can be said where no FDE describes the
  /// code.
  bool may_lack_debug_frame_ = false;
  std::vector<std::uint64_t> function_starts_;  ///< ascending
  std::optional<StackPointerProofs> proofs_;
  std::optional<Emulation> emulation_;
  Verification result_;
  bool row_is_unchecked_ = false;    ///< at least in part
  std::set<std::string> unchecked_;  ///< what is said of them
  std::vector<Range> claimed_;
};

std::string place_text(std::uint64_t address, std::uint64_t file_offset) {
  return hex(address) + " (file offset " + hex(file_offset) + ")";
}

/// A running program's section is where PT_GNU_SFRAME says, whatever the section header says.
void check_segments(const elf::Image& image, Verification& result) {
  const elf::Section* const section = image.find_section(".sframe");
  if (section == nullptr) return;
  const Elf64_Shdr& header = section->header;
  for (const Elf64_Phdr& segment : image.segments()) {
    if (segment.p_type != elf::segment_type_gnu_sframe) continue;
    if (segment.p_vaddr == header.sh_addr && segment.p_offset == header.sh_offset) continue;
    ++result.difference_count;
    result.differences.push_back({.pc = segment.p_vaddr,
                                  .kind = Difference::Kind::Segment,
                                  .found = place_text(segment.p_vaddr, segment.p_offset),
                                  .expected = place_text(header.sh_addr, header.sh_offset)});
  }
}

}  // namespace

Verification verify(const elf::Image& image, const elf::Image& cfi_image, const Progress& progress) {
  Verification all;
  check_segments(image, all);
  for (const FileSection& found : object::read_sframe_sections(image))
    all += verify(found.section, image, cfi_image, progress);
  return all;
}

namespace {

/// Each thread, and each section, names it for itself.
void keep_first_without_fde(std::vector<Difference>& unchecked) {
  bool is_named = false;
  std::erase_if(unchecked, [&](const Difference& difference) {
    return difference.kind == Difference::Kind::NoFde && std::exchange(is_named, true);
  });
}

}  // namespace

Verification verify(const sframe::Section& section, const elf::Image& image, const elf::Image& cfi_image,
                    const Progress& progress) {
  const std::size_t count = section.fdes.size();
  const std::size_t threads = workers_for(count, functions_per_thread);
  const auto start_of = [&](std::size_t part) { return count * part / threads; };
  const GoFrames go(image, sframe::traits_of(section.abi));
  // A libdwarf each: none is for several threads.
  std::vector<Verifier::Found> founds(threads);
  std::vector<Async> others;
  for (std::size_t part = 1; part < threads; ++part) {
    others.push_back(async([&, part] {
      founds[part] = Verifier(image, cfi_image, go).run(section, start_of(part), start_of(part + 1), {});
    }));
  }
  Verifier verifier(image, cfi_image, go);
  Verifier::Found all = verifier.run(section, 0, start_of(1), [&](std::uint64_t done, std::uint64_t) {
    if (progress) progress(done * threads, count);
  });
  for (Async& other : others) other.get();
  for (const Verifier::Found& found : founds) {
    all.result += found.result;
    all.claimed.insert(all.claimed.end(), found.claimed.begin(), found.claimed.end());
  }
  if (all.result.differences.size() > differences_kept) all.result.differences.resize(differences_kept);
  keep_first_without_fde(all.result.unchecked);
  const std::string name(sframe::traits_of(section.version).section_name);
  for (Difference& difference : all.result.differences) difference.section = name;
  verifier.count_coverage(RangeSet(std::move(all.claimed)), all.result);
  return std::move(all.result);
}

void check_same_rows(const sframe::Section& before, const sframe::Section& after, const elf::Image& image) {
  const std::vector<sframe::PcRow> old_rows = sframe::pc_rows(before);
  const auto wrong = [&](std::uint64_t pc, const char* what) {
    throw Refused(image.name(), std::string("cannot reencode: at ") + hex(pc) + " the new section " + what);
  };
  const auto check_padding = [&](std::uint64_t begin, std::uint64_t end) {
    if (begin < end && !is_padding(image, after.abi, begin, end)) wrong(begin, "has one row too many");
  };
  auto old = old_rows.begin();
  for (const sframe::PcRow& row : sframe::pc_rows(after)) {
    std::uint64_t pc = row.begin;
    for (; old != old_rows.end() && old->begin < row.end; ++old) {
      if (old->begin < pc) wrong(old->begin, "lacks the row");
      check_padding(pc, old->begin);
      const bool same = old->recovery == row.recovery && old->signal_frame == row.signal_frame &&
                        old->b_key == row.b_key && old->end <= row.end;
      if (!same) wrong(old->begin, "has another row");
      pc = old->end;
    }
    check_padding(pc, row.end);
  }
  if (old != old_rows.end()) wrong(old->begin, "lacks the row");
}

}  // namespace sframe_gen::verify

namespace sframe_gen {

Verification& Verification::operator+=(const Verification& other) {
  functions += other.functions;
  rows += other.rows;
  checked_pcs += other.checked_pcs;
  described_bytes += other.described_bytes;
  claimed_bytes += other.claimed_bytes;
  padding_bytes += other.padding_bytes;
  left_out_rows += other.left_out_rows;
  difference_count += other.difference_count;
  unchecked_count += other.unchecked_count;
  differences.insert(differences.end(), other.differences.begin(), other.differences.end());
  unchecked.insert(unchecked.end(), other.unchecked.begin(), other.unchecked.end());
  return *this;
}

std::string text_of(const Verification::Difference& difference) {
  using Witness = Verification::Witness;
  using enum Verification::Difference::Kind;
  std::string at = "pc " + hex(difference.pc) + ": ";
  const bool by_dwarf = difference.witness == Witness::Dwarf;
  switch (difference.kind) {
    case Caller: {
      const char* const witness = by_dwarf                                 ? "DWARF says "
                                  : difference.witness == Witness::GoTable ? "Go's function table says "
                                                                           : "following the instructions gives ";
      return at + difference.section + " says " + difference.found + "; " + witness + difference.expected;
    }
    case SignalFrame: {
      const std::string found = std::string(difference.is_signal_frame ? "a" : "no") + " signal frame; ";
      const char* const witness = by_dwarf                                 ? "DWARF says the opposite"
                                  : difference.witness == Witness::GoTable ? "Go's function table says the opposite"
                                                                           : "it is code that is called";
      return at + difference.section + " says that it is " + found + witness;
    }
    case NoFde:
      if (!difference.expected.empty()) return at + "cannot be checked: " + difference.expected;
      return at + difference.section + " has a row, but no FDE describes this PC";
    case NotCode:
      return at + difference.section + " describes " + hex(difference.size) + " bytes from here, which are not code";
    case NoCaller:
      return at + difference.section + " has a row, but by Go's function table, " + difference.expected;
    case Unchecked:
      return at + "cannot be checked: " + difference.expected;
    case Segment:
      return "PT_GNU_SFRAME leads to " + difference.found + ", but " + difference.section + " is at " +
             difference.expected;
  }
  return at;
}

}  // namespace sframe_gen
