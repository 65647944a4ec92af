#pragma once

#include <cstdint>
#include <vector>

#include "rows/proof/paths.hpp"
#include "support/hash.hpp"
#include "support/range.hpp"

namespace sframe_gen::rows::proof {

/// Which code after calls leads out of its function as a caller expects it: to a return or a last jump as at the
/// entry, or to where a path without a call leads.
///
/// Only then is it sure to be the function's. A call may be one that does not return, and what follows it, code of
/// another function: with another depth, it would not find the way out. So may be what follows a part that was split
/// off, in the midst of others: GCC 16 leaves such parts empty, but for the registers that they save. Filled while each
/// block is walked once.
class WaysOut {
 public:
  void clear();
  /// The walk of a block leaves the function at `pc`.
  void add_end(std::uint64_t block, std::uint64_t pc) { found(block, pc); }
  /// It goes from `pc` to another block.
  void add_edge(std::uint64_t block, std::uint64_t pc, std::uint64_t to) { edges_.push_back({block, pc, to}); }
  /// After all blocks are walked. `own`: the function's own code.
  void spread(const Paths& paths, const Range& own);
  /// Whether a block's code leads out from `pc` on.
  bool lead_from(std::uint64_t block, std::uint64_t pc) const;

 private:
  struct Edge {
    std::uint64_t block, pc, to;
  };
  void found(std::uint64_t block, std::uint64_t pc);

  std::vector<Edge> edges_;
  SeededMap<std::uint64_t, std::uint64_t> last_;  ///< by block: the last instruction that leads out
  std::vector<std::uint64_t> new_;                ///< blocks that lead out, which those before do not know of yet
};

}  // namespace sframe_gen::rows::proof
