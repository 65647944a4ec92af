#include "emit/compact/single_rows.hpp"

#include "support/in_parallel.hpp"

namespace sframe_gen::emit::compact {

namespace {

struct Kind {
  std::uint32_t occurrences = 0;
  std::uint32_t cut = 0;  ///< of one of them
};

}  // namespace

SingleRows::SingleRows(const Sequence& sequence, const RowHashes& hashes, const BlockSizes& sizes,
                       std::size_t workers) {
  std::vector<std::vector<Kind>> kinds(workers);
  const std::vector<Stretch> stretches = stretches_of(sequence);
  for_each_in_parallel(stretches.size(), workers, [&](std::size_t i, std::size_t worker) {
    std::vector<Kind>& own = kinds[worker];
    for (std::uint32_t cut = stretches[i].begin; cut < stretches[i].end; ++cut) {
      if (hashes.rows(hashes.begin(cut), cut + 1) != 1) continue;
      const std::size_t kind = kind_of(sequence, stretches[i].run, cut);
      if (kind >= own.size()) own.resize(kind + 1);
      ++own[kind].occurrences;
      own[kind].cut = cut;
    }
  });
  std::vector<Kind> all;
  for (const std::vector<Kind>& own : kinds) {
    if (own.size() > all.size()) all.resize(own.size());
    for (std::size_t kind = 0; kind < own.size(); ++kind) {
      all[kind].occurrences += own[kind].occurrences;
      if (own[kind].occurrences != 0) all[kind].cut = own[kind].cut;
    }
  }
  identifiers_.resize(all.size(), none);
  for (std::size_t kind = 0; kind < all.size(); ++kind) {
    if (all[kind].occurrences < 2) continue;
    identifiers_[kind] = findings_.add(sizes.shape(all[kind].cut, all[kind].cut + 1).bytes);
    findings_.occurrences.back() = all[kind].occurrences;
  }
}

}  // namespace sframe_gen::emit::compact
