#include "emit/compact/cut_facts.hpp"

#include <optional>

#include "support/workers.hpp"

namespace sframe_gen::emit::compact {

namespace {

/// Takes each row once for both, as long as it is at hand. `hashes` null: nothing is shared.
void add_rows(const Sequence& sequence, const Stretch& stretch, BlockSizes& all_sizes, PartHashes::Adder* hashes) {
  BlockSizes::Adder sizes(all_sizes);
  for (std::uint32_t cut = stretch.begin; cut < stretch.end; ++cut) {
    const Row* const at_cut = &sequence.rows[sequence.cuts[cut].row];
    const Row* const end = sequence.rows.data() + sequence.end_of_rows(cut);
    const bool repeats = sequence.cuts[cut].repeats;
    const Row* const begin = at_cut + (repeats ? 1 : 0);
    sizes.begin(cut, *at_cut, repeats);
    if (begin == end) {
      if (hashes != nullptr) hashes->add_without_rows(cut);
    } else {
      PartHashes::Adder::Behind behind;
      sizes.add(*begin);
      for (const Row* row = begin + 1; row != end; ++row) {
        sizes.add(*row);
        behind.add(row[-1], *row);
      }
      if (hashes != nullptr) hashes->add(cut, *at_cut, begin, end, behind);
    }
    sizes.end(cut);
  }
  if (hashes != nullptr) hashes->end();
}

}  // namespace

CutFacts::CutFacts(const Sequence& sequence, const UsedRules& rules, const Dialect& dialect)
    : stretches(stretches_of(sequence)),
      shares_heads(dialect.shares_rows && !dialect.version->splits_descriptor),
      sizes(sequence, rules, dialect),
      hashes(dialect.shares_rows ? PartHashes(sequence) : PartHashes()),
      reaches(shares_heads ? Reaches() : Reaches(sequence)) {
  constexpr std::size_t cuts_per_worker = 512;
  parallel_for(stretches.size(), workers_for(sequence.cuts.size(), cuts_per_worker), [&](std::size_t i, std::size_t) {
    std::optional<PartHashes::Adder> adder;
    if (dialect.shares_rows) adder.emplace(hashes, sequence, stretches[i], dialect.compact_rows);
    add_rows(sequence, stretches[i], sizes, adder ? &*adder : nullptr);
    if (!shares_heads) reaches.add(stretches[i], sizes, dialect.compact_rows);
  });
}

}  // namespace sframe_gen::emit::compact
