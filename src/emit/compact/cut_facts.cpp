#include "emit/compact/cut_facts.hpp"

#include "support/in_parallel.hpp"

namespace sframe_gen::emit::compact {

CutFacts::CutFacts(const Sequence& sequence, const RuleTable& rules, const Dialect& dialect)
    : stretches(stretches_of(sequence)),
      shares_heads(dialect.shares_rows && !dialect.version->splits_descriptor),
      sizes(sequence, rules, dialect),
      hashes(dialect.shares_rows ? PartHashes(sequence) : PartHashes()),
      reaches(shares_heads ? Reaches() : Reaches(sequence)) {
  constexpr std::size_t cuts_per_worker = 8192;
  // One after the other for each stretch, whose rows are in the cache then.
  for_each_in_parallel(stretches.size(), workers_for(sequence.cuts.size(), cuts_per_worker),
                       [&](std::size_t i, std::size_t) {
                         sizes.add(sequence, stretches[i]);
                         if (dialect.shares_rows) hashes.add(sequence, stretches[i], dialect.compact_rows);
                         if (!shares_heads) reaches.add(stretches[i], sizes, dialect.compact_rows);
                       });
}

}  // namespace sframe_gen::emit::compact
