#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "emit/compact/cuts.hpp"
#include "emit/compact/shortest_path.hpp"
#include "emit/dialect.hpp"

namespace sframe_gen::emit::compact {

struct Plan {
  std::vector<Path> paths;  ///< by run
  /// No choice among these cuts takes fewer bytes for descriptors and rows, whatever is shared, but for equal rows that
  /// are cut at other places.
  std::uint64_t least_bytes = 0;
};

/// Chooses where to cut so that descriptors and rows take the fewest bytes: by shortest paths over the cuts.
///
/// The price of a descriptor follows from its two cuts alone but for a block that occurs elsewhere, which is stored
/// once. Its price is divided among its users, which are not known before the path is:
///
///     1. among all places where it occurs. No user can pay less, so this path's length is a bound for any choice.
///     2. among its users on the first path.
///     3. it is free if two or more used it. The sum over all then can only fall.
Plan make_plan(std::span<Run> runs, const Dialect& dialect);

}  // namespace sframe_gen::emit::compact
