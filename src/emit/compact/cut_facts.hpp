#pragma once

#include <vector>

#include "emit/compact/block_sizes.hpp"
#include "emit/compact/part_hashes.hpp"
#include "emit/compact/reaches.hpp"
#include "emit/compact/sequence.hpp"
#include "emit/dialect.hpp"

namespace sframe_gen::emit::compact {

/// What is known of each cut before the search.
struct CutFacts {
  CutFacts(const Sequence& sequence, const UsedRules& rules, const Dialect& dialect);

  std::vector<Stretch> stretches;
  /// Without an attribute in front, a block may be the beginning of another.
  bool shares_heads;
  BlockSizes sizes;
  PartHashes hashes;  ///< none where nothing is shared
  Reaches reaches;    ///< none where heads are shared
};

}  // namespace sframe_gen::emit::compact
