#include "verify/verify.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "elf/object/sframe_sections.hpp"
#include "sframe/format.hpp"
#include "sframe/pc_rows.hpp"
#include "sframe_gen/find_rows.hpp"
#include "support/range.hpp"
#include "support/text.hpp"
#include "support/workers.hpp"
#include "verify/go_frames.hpp"
#include "verify/instruction.hpp"
#include "verify/witnesses.hpp"

namespace sframe_gen::verify {

namespace {

constexpr std::uint64_t functions_per_progress = 256;
constexpr std::uint64_t functions_per_release = 16384;  ///< bounds libdwarf's memory
constexpr const char* without_debug_frame =
    "no FDE describes this PC, there is no .debug_frame, and the instructions prove no such row (if the file was "
    "stripped, name the debug file with --cfi-from)";
/// Below this, another thread's libdwarf takes longer to read the section than it saves.
constexpr std::size_t functions_per_thread = 4096;

using Difference = Verification::Difference;
using Progress = std::function<void(std::uint64_t, std::uint64_t)>;

/// Judges some of a section's functions, in one thread.
class Verifier {
 public:
  Verifier(const sframe::Section& section, const elf::Image& image, const elf::Image& cfi_image, const GoFrames& go,
           ProofWitness& proof)
      : section_(section),
        image_(image),
        code_(image.code()),
        dwarf_(image, cfi_image),
        described_(described_by(dwarf_, go)),
        instructions_(section, image, described_, dwarf_),
        go_(go, dwarf_),
        padding_(image, instructions_, go, dwarf_),
        proof_(proof) {
    if (&cfi_image != &image && dwarf_.empty() && go.empty())
      throw Refused(cfi_image.name(), "no call frame information to verify against");
  }

  /// Checks descriptors [begin, end).
  Testimony run(std::size_t begin, std::size_t end, const Progress& progress) {
    std::uint64_t since_release = 0;
    for (const sframe::Fde& fde : std::span(section_.fdes).subspan(begin, end - begin)) {
      if (testimony_.result.functions++ % functions_per_progress == 0 && progress)
        progress(testimony_.result.functions, end - begin);
      if (++since_release == functions_per_release) {
        dwarf_.release_memory();
        since_release = 0;
      }
      judge_function(fde);
    }
    return std::move(testimony_);
  }

  /// Returns the code that FDEs or Go's function table describe.
  const std::vector<Range>& described() const { return described_; }

 private:
  static std::vector<Range> described_by(const DwarfWitness& dwarf, const GoFrames& go) {
    std::vector<Range> described;
    dwarf.add_ranges(described);
    go.add_ranges(described);
    return described;
  }

  void judge_function(const sframe::Fde& fde) {
    testimony_.result.rows += fde.fres.size();
    if (fde.size != 0 && !is_code(fde.start, fde.start + fde.size))
      return testimony_.differ({.pc = fde.start, .kind = Difference::Kind::NotCode, .size = fde.size});
    const auto judge = [&](std::uint64_t begin, std::uint64_t end, const sframe::Fre& fre) {
      judge_row({fre.recovery, fde, section_, {fde.start + begin, fde.start + end}});
    };
    if (sframe::is_outermost_throughout(fde, section_.version)) {
      judge(0, fde.size, sframe::Fre{});
    } else {
      sframe::for_each_interval(fde, judge);
    }
  }

  /// libdwarf 20210528 does not know every opcode (DW_CFA_GNU_negative_offset_extended), nor registers beyond its
  /// table, and misreads others (frame_sections.hpp). A row that it cannot evaluate is not verified, but others can be.
  void judge_row(const JudgedRow& row) try {
    testimony_.begin_row(row);
    for (std::uint64_t pc = row.pcs.begin; pc < row.pcs.end;) {
      const auto end = judge_by_first(row, pc, instructions_, go_, dwarf_);
      if (!end) return;
      pc = *end;
    }
  } catch (const MalformedInput& failure) {
    testimony_.leave_unchecked({.pc = row.pcs.begin, .kind = Difference::Kind::Unchecked, .expected = failure.what()});
  }

  /// Asks the witnesses, the best one first, about the row at `pc`. Each is asked about the PCs up to where a better
  /// one may know something, and padding about those that no witness knows. Returns up to where the row is judged; no
  /// value: the rest of it is wrong.
  template <typename... Witnesses>
  std::optional<std::uint64_t> judge_by_first(const JudgedRow& row, std::uint64_t pc, Witnesses&... witnesses) {
    Range pcs{pc, row.pcs.end};
    std::optional<std::uint64_t> end;
    const auto judges = [&](auto& witness) {
      end = witness.judge(row, pcs, testimony_);
      if (!end) pcs.end = std::min(pcs.end, witness.boundary_after(pc));
      return end.has_value();
    };
    if ((judges(witnesses) || ...)) return end;
    end = padding_.judge(row, pcs, testimony_);
    return end ? end : pass_over(row, pcs);
  }

  /// No witness knows anything of the PCs. An FDE of .debug_frame may have, or --synthesize made the row.
  std::optional<std::uint64_t> pass_over(const JudgedRow& row, const Range& pcs) {
    const bool may_lack = dwarf_.may_lack_debug_frame();
    if (const auto end = proof_.judge(row, pcs, testimony_, may_lack)) return end;
    const std::string why = may_lack ? without_debug_frame : proof_.why_none();
    if (why.empty()) {
      testimony_.differ({.pc = pcs.begin, .kind = Difference::Kind::NoFde});
      return std::nullopt;
    }
    testimony_.leave_unchecked({.pc = pcs.begin, .kind = Difference::Kind::NoFde, .expected = why});
    return pcs.end;
  }

  /// The code may be in several sections if only padding is between them, over which rows may go on.
  bool is_code(std::uint64_t begin, std::uint64_t end) const {
    std::uint64_t pc = begin;
    for (auto code = code_.find(pc); pc < end; pc = code++->end) {
      if (code == code_.end()) return false;
      if (!code->contains(pc) && (pc == begin || !is_padding(image_, section_.abi, pc, code->begin))) return false;
    }
    return true;
  }

  const sframe::Section& section_;
  const elf::Image& image_;
  RangeSet code_;
  DwarfWitness dwarf_;
  std::vector<Range> described_;
  InstructionWitness instructions_;
  GoWitness go_;
  PaddingWitness padding_;
  ProofWitness& proof_;  ///< of all threads
  Testimony testimony_;
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

/// Each thread, and each section, names the first of its own.
void keep_first_without_fde(std::vector<Difference>& unchecked) {
  bool is_named = false;
  std::erase_if(unchecked, [&](const Difference& difference) {
    return difference.kind == Difference::Kind::NoFde && std::exchange(is_named, true);
  });
}

void count_coverage(const RangeSet& described, const RangeSet& claimed, Verification& result) {
  const RangeSet left_out = described.without(claimed);
  result.described_bytes = described.size();
  result.claimed_bytes = result.described_bytes - left_out.size();
  result.left_out_rows = left_out.ranges().size();
}

}  // namespace

Verification verify(const elf::Image& image, const elf::Image& cfi_image, const Progress& progress,
                    const ProveRows& prove) {
  Verification all;
  check_segments(image, all);
  for (const FileSection& of_file : elf::object::read_sframe_sections(image))
    all += verify(of_file.section, image, cfi_image, progress, prove);
  return all;
}

Verification verify(const sframe::Section& section, const elf::Image& image, const elf::Image& cfi_image,
                    const Progress& progress, const ProveRows& prove) {
  ProofWitness proof(prove);
  const std::size_t count = section.fdes.size();
  const std::size_t threads = workers_for(count, functions_per_thread);
  const auto start_of = [&](std::size_t part) { return count * part / threads; };
  const GoFrames go(image, sframe::traits_of(section.abi));
  // A libdwarf each: none is for several threads.
  std::vector<Testimony> testimonies(threads);
  std::vector<Async> others;
  for (std::size_t part = 1; part < threads; ++part) {
    others.push_back(async([&, part] {
      testimonies[part] = Verifier(section, image, cfi_image, go, proof).run(start_of(part), start_of(part + 1), {});
    }));
  }
  Verifier verifier(section, image, cfi_image, go, proof);
  testimonies[0] = verifier.run(0, start_of(1), [&](std::uint64_t done, std::uint64_t) {
    if (progress) progress(done * threads, count);
  });
  for (Async& other : others) other.get();
  Verification all;
  std::vector<Range> claimed;
  for (const Testimony& of_thread : testimonies) {
    all += of_thread.result;
    claimed.insert(claimed.end(), of_thread.claimed.begin(), of_thread.claimed.end());
  }
  if (all.differences.size() > Testimony::differences_kept) all.differences.resize(Testimony::differences_kept);
  keep_first_without_fde(all.unchecked);
  const std::string name(sframe::traits_of(section.version).section_name);
  for (Difference& difference : all.differences) difference.section = name;
  count_coverage(RangeSet(verifier.described()), RangeSet(std::move(claimed)), all);
  return all;
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
      const std::string claim = std::string(difference.is_signal_frame ? "a" : "no") + " signal frame; ";
      const char* const witness = by_dwarf                                 ? "DWARF says the opposite"
                                  : difference.witness == Witness::GoTable ? "Go's function table says the opposite"
                                                                           : "it is code that is called";
      return at + difference.section + " says that it is " + claim + witness;
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
