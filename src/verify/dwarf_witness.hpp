#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "elf/image.hpp"
#include "sframe/format.hpp"
#include "support/range.hpp"
#include "verify/caller.hpp"
#include "verify/cfi_sections.hpp"
#include "verify/libdwarf.hpp"
#include "verify/proofs.hpp"
#include "verify/testimony.hpp"

namespace sframe_gen::verify {

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

}  // namespace sframe_gen::verify
