#include "emit/compact/single_rows.hpp"

namespace sframe_gen::emit::compact {

SingleRows::SingleRows(const Sequence& sequence, const RowHashes& hashes, const BlockSizes& sizes) {
  std::vector<std::uint32_t> occurrences;  // by kind
  for (std::size_t run = 0; run < sequence.runs.size(); ++run) {
    for (std::uint32_t cut = sequence.runs[run].first_cut; cut < sequence.end_of_cuts(run); ++cut) {
      if (hashes.rows(hashes.begin(cut), cut + 1) != 1) continue;
      const std::size_t kind = kind_of(sequence, run, cut);
      if (kind >= identifiers_.size()) {
        identifiers_.resize(kind + 1, none);
        occurrences.resize(kind + 1);
      }
      if (++occurrences[kind] == 2) identifiers_[kind] = findings_.add(sizes.shape(cut, cut + 1).bytes);
    }
  }
  for (std::size_t kind = 0; kind < identifiers_.size(); ++kind)
    if (identifiers_[kind] != none) findings_.occurrences[identifiers_[kind]] = occurrences[kind];
}

}  // namespace sframe_gen::emit::compact
