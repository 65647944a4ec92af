#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cfi/frame_source.hpp"
#include "rows/stubs/recognize.hpp"
#include "sframe_gen/coverage.hpp"
#include "support/range.hpp"

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

}  // namespace sframe_gen::encode
