#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cfi/frame_source.hpp"
#include "cfi/rules.hpp"
#include "elf/image.hpp"
#include "rows/stubs/recognize.hpp"
#include "sframe_gen/coverage.hpp"
#include "support/range.hpp"

/// Where rows come from, besides the functions of call frame information (CFI).
namespace sframe_gen::encode {

/// What the rows of each PC are made from, if it has rows: stubs come from instructions, whatever CFI says of them.
class RowSources {
 public:
  RowSources() = default;
  RowSources(const cfi::FrameSource& source, const rows::stubs::StubList& stubs);

  struct Piece {
    Range pcs;
    RowSource source = RowSource::EhFrame;
    std::uint64_t records = 1;  ///< that begin here: FDEs, functions of Go's table, or stubs
  };
  /// Ascending and disjoint.
  const std::vector<Piece>& pieces() const { return pieces_; }
  /// Returns the source of the row at `pc` in a descriptor that begins at `start`. Padding has the row of the function
  /// before it. Returns nothing if the file does not describe the PC.
  std::optional<RowSource> at(std::uint64_t pc, std::uint64_t start) const;

 private:
  std::vector<Piece> pieces_;
};

/// Returns the functions that Go's linker has described in a program or library; null if it has not.
std::shared_ptr<const cfi::OtherFunctions> go_functions_of(const elf::Image& image);

/// Returns functions, or pieces of them, that are known by a proof of their instructions, and those of `others`, which
/// may be null: they share no PC. `pieces` are ascending and disjoint, and `rules` are theirs.
std::shared_ptr<const cfi::OtherFunctions> with_proved_pieces(std::shared_ptr<const cfi::OtherFunctions> others,
                                                              std::vector<cfi::Function> pieces,
                                                              std::unique_ptr<cfi::RuleTable> rules);

/// The function without rows for the PCs that its instructions disprove: these get
/// UnknownReason::ContradictedByCode. Functions that repeat are not compared with code, and stay as they are.
cfi::Function without_disproved(const cfi::Function& function, const RangeSet& disproved, cfi::RuleTable& rules);

}  // namespace sframe_gen::encode
