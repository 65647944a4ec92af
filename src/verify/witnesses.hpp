#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "elf/image.hpp"
#include "sframe/format.hpp"
#include "sframe/pc_rows.hpp"
#include "sframe_gen/section.hpp"
#include "sframe_gen/verify.hpp"
#include "support/range.hpp"
#include "verify/caller.hpp"
#include "verify/cfi_sections.hpp"
#include "verify/emulation.hpp"
#include "verify/go_frames.hpp"
#include "verify/libdwarf.hpp"
#include "verify/proofs.hpp"

/// Those who judge rows, each by what it knows of some code, and what they report.
namespace sframe_gen::verify {

/// A row of a section, for witnesses to judge. What it refers to must outlive it.
struct JudgedRow {
  const std::optional<sframe::RecoveryRules>& recovery;
  const sframe::Fde& fde;
  const sframe::Section& section;
  Range pcs;  ///< virtual addresses that the row is for

  const sframe::AbiTraits& abi() const { return sframe::traits_of(section.abi); }
  /// Returns what the row says at `pc`.
  Caller caller_at(std::uint64_t pc, Wording wording = Wording::Texts) const {
    return sframe_caller(recovery, fde, section, pc, wording);
  }
  /// Checks whether the row should and does not, or does and should not, mark a signal frame. Some versions cannot.
  bool is_wrong_about_signal_frame(bool is_signal_frame) const {
    return fde.signal_frame != is_signal_frame && sframe::traits_of(section.version).marks_signal_frames;
  }
};

/// Differences and counts that the witnesses report about some functions of a section.
class Testimony {
 public:
  static constexpr std::size_t differences_kept = 20;

  /// Counts the PCs of a row, which is judged from now on.
  void begin_row(const JudgedRow& row);

  void differ(Verification::Difference difference);
  void differ(std::uint64_t pc, Verification::Witness witness, const Caller& by_row, const Caller& expected);
  void differ_about_signal_frame(std::uint64_t pc, Verification::Witness witness, const JudgedRow& row);

  /// Counts the row as unchecked. The reason, `expected`, names the FDE, so that the FDE's next row has the same one
  /// and is not listed again.
  void leave_unchecked(Verification::Difference unchecked);

  Verification result;
  std::vector<Range> claimed;  ///< PCs that have rows

 private:
  bool row_is_unchecked_ = false;         ///< at least in part
  std::set<std::string> reasons_listed_;  ///< of unchecked rows
};

/// Judges rows by call frame information, as libdwarf evaluates it: .eh_frame where it describes the PC, else
/// .debug_frame. For one thread.
class DwarfWitness {
 public:
  /// Reads the CFI of `image`, and .debug_frame of `cfi_image` if that is another file. Both must outlive the object.
  /// Throws MalformedInput.
  DwarfWitness(const elf::Image& image, const elf::Image& cfi_image);

  bool empty() const { return sessions_.empty(); }
  /// Whether strip may have removed .debug_frame, so that code which no FDE describes may have had one.
  bool may_lack_debug_frame() const { return may_lack_debug_frame_; }

  /// Judges the row at the first of `pcs`, and at the last if DWARF has one row for them. Returns up to where the
  /// judgement holds; no value if no FDE describes the first PC. Throws MalformedInput if libdwarf cannot evaluate the
  /// FDE, or misreads it.
  std::optional<std::uint64_t> judge(const JudgedRow& row, const Range& pcs, Testimony& testimony);
  /// Compares all but the frame pointer, at the first of `pcs`: Go's linker writes into .debug_frame that it is
  /// unchanged where functions have saved it. Returns as `judge`, or the end of `pcs`.
  std::uint64_t judge_without_frame_pointer(const JudgedRow& row, const Range& pcs, Testimony& testimony);

  bool describes(std::uint64_t pc) const { return !fdes_at(pc).numbers.empty(); }
  /// Checks whether a rule at `pc` reads the PC, as GNU ld's expression for a PLT does.
  bool is_described_by_pc(std::uint64_t pc, const sframe::AbiTraits& abi);
  /// Returns the lowest start or end of an FDE above `pc`; the highest address if there is none.
  std::uint64_t boundary_after(std::uint64_t pc) const;
  void add_ranges(std::vector<Range>& ranges) const;

  /// Gives back what libdwarf keeps of FDEs that it has evaluated.
  void release_memory();

 private:
  /// FDEs of one section. `index` is null if there are none.
  struct DescribingFdes {
    const FdeIndex* index = nullptr;
    std::vector<std::size_t> numbers;
  };
  /// HereOnly: at the next PC, the caller may be another, though DWARF has the same row.
  enum class Agreement : std::uint8_t { Same, HereOnly, Different };

  void load(const elf::Image& image, bool is_debug_file);
  DescribingFdes fdes_at(std::uint64_t pc) const;
  static std::uint64_t end_of_row(const DescribingFdes& fdes, const Range& pcs);
  Agreement compare(const JudgedRow& row, const DwarfSession& session, std::size_t fde, std::uint64_t pc,
                    Testimony& testimony);

  std::vector<CfiSection> sections_;
  std::vector<DwarfSession> sessions_;
  std::vector<FdeIndex> indices_;
  bool may_lack_debug_frame_ = false;
  std::optional<StackPointerProofs> proofs_;
};

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

/// The rows that a proof of a file's instructions gives, of all its code.
struct ProvedRows {
  std::vector<sframe::PcRow> rows;  ///< ascending and disjoint
  std::string why_none;             ///< why nothing can be proved here; else empty
};
using ProveRows = std::function<ProvedRows()>;

/// Judges rows of code that nothing describes. Such rows are rare, and a proof takes long: it is made for the first of
/// them. Any thread may ask.
class ProofWitness {
 public:
  /// `prove` may be null: then nothing is proved.
  explicit ProofWitness(ProveRows prove) : prove_(std::move(prove)) {}

  /// Returns up to where the row is judged; no value if no proved function has the first PC. `others_may_know`: a
  /// source that is gone may have made the row, so that it is judged only if it is right.
  std::optional<std::uint64_t> judge(const JudgedRow& row, const Range& pcs, Testimony& testimony,
                                     bool others_may_know);
  /// Why it knows nothing of any PC; empty if that is not so.
  std::string why_none();

 private:
  const ProvedRows& proved();

  ProveRows prove_;
  std::once_flag once_;
  ProvedRows proved_;
};

}  // namespace sframe_gen::verify
