#pragma once

#include <cstdint>
#include <vector>

#include "emit/compact/cut_facts.hpp"
#include "emit/compact/sequence.hpp"
#include "emit/compact/shortest_path.hpp"
#include "emit/dialect.hpp"

namespace sframe_gen::emit::compact {

struct Plan {
  /// By descriptor, ascending: one begins at each run's first cut, and at some of the others. Two that have the number
  /// of one repeated block are most likely equal.
  std::vector<PathBlock> blocks;
  std::size_t repeated = 0;  ///< how many numbers there are
  std::uint64_t bytes = 0;   ///< of descriptors and rows, if blocks with one number are equal and no others
  /// No choice among these cuts takes fewer bytes for descriptors and rows, whatever is shared, but for equal rows that
  /// are cut at other places.
  std::uint64_t least_bytes = 0;
};

/// Where to cut the rows so that descriptors and rows take the fewest bytes: a shortest path over the cuts.
///
/// A descriptor's price follows from its two cuts alone but for a block that others have too, which is stored once. Its
/// price is divided among its users, who are not known before the path is:
///
///     1. by all places that could use it. Nobody can pay less, so this path's length is a bound for any choice.
///     2. by those that used it the time before.
///     3. nothing at all where two or more used it. The sum over all then can only fall.
Plan make_plan(const Sequence& sequence, const CutFacts& facts, const Dialect& dialect);

}  // namespace sframe_gen::emit::compact
