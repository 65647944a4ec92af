#include "emit/compact/row_hashes.hpp"

#include "support/hash.hpp"
#include "support/in_parallel.hpp"

namespace sframe_gen::emit::compact {

namespace {

constexpr std::uint64_t factor = 0x9e3779b97f4a7c15U;

/// Modulo 2^64, by Newton's method: each step doubles the bits that are right, of which an odd number has three.
constexpr std::uint64_t inverse_of(std::uint64_t odd) {
  std::uint64_t inverse = odd;
  for (int bits = 3; bits < 64; bits *= 2) inverse *= 2 - odd * inverse;
  return inverse;
}
constexpr std::uint64_t inverse = inverse_of(factor);
static_assert(factor * inverse == 1);

std::uint64_t hash_of(std::uint32_t distance, RuleId rule) {
  return mixed(std::uint64_t{distance} << 32U | rule);
}

/// The hash of a block's first row.
std::uint64_t hash_of_first(const Row& row, std::uint64_t seed) {
  return hash_of(0, row.rule) + seed;
}

}  // namespace

RowHashes::RowHashes(const Sequence& sequence, std::uint32_t most_rows)
    : ends_(std::make_unique_for_overwrite<End[]>(sequence.cuts.size() + 1)),
      begins_(std::make_unique_for_overwrite<Begin[]>(sequence.cuts.size())),
      groups_(std::make_unique_for_overwrite<std::uint8_t[]>(sequence.cuts.size())),
      powers_(most_rows + 1, 1) {
  for (std::size_t i = 1; i < powers_.size(); ++i) powers_[i] = powers_[i - 1] * factor;
  constexpr std::size_t cuts_per_worker = 16384;
  const std::vector<Stretch> stretches = stretches_of(sequence);
  for_each_in_parallel(stretches.size(), workers_for(sequence.cuts.size(), cuts_per_worker),
                       [&](std::size_t i, std::size_t) { add(sequence, stretches[i]); });
}

void RowHashes::add(const Sequence& sequence, const Stretch& stretch) {
  const Run& run = sequence.runs[stretch.run];
  const std::uint64_t seed = mixed((run.signal_frame ? 2U : 0U) + (run.b_key ? 1U : 0U));
  End all{0, 0};
  std::uint32_t offset_before = 0;
  std::uint32_t waiting = stretch.begin;  // cuts from there on have had no second row yet
  const auto first_of = [&](std::uint32_t cut) -> const Row& { return sequence.rows[sequence.cuts[cut].row]; };
  const auto take = [&](const Row& row) {
    all.sum = all.sum * factor + hash_of(row.offset - offset_before, row.rule);
    ++all.rows;
    offset_before = row.offset;
  };
  const auto take_as_second = [&](const Row& row, std::uint32_t cuts) {
    take(row);
    for (; waiting < cuts; ++waiting) {
      const Row& first = first_of(waiting);
      const std::uint64_t two = hash_of_first(first, seed) * factor + hash_of(row.offset - first.offset, row.rule);
      groups_[waiting] = static_cast<std::uint8_t>(mixed(two) >> (64 - group_bits));
      // As if the row had been added to the first one alone.
      if (sequence.cuts[waiting].repeats) begins_[waiting].difference = (two - all.sum) * inverse;
    }
  };
  for (std::uint32_t cut = stretch.begin; cut < stretch.end; ++cut) {
    std::uint32_t i = sequence.cuts[cut].row;
    const std::uint32_t end = sequence.end_of_rows(cut);
    begins_[cut] = {0, all.rows - (sequence.cuts[cut].repeats ? 1 : 0), cut};
    groups_[cut] = 0;
    if (!sequence.cuts[cut].repeats) {
      take_as_second(sequence.rows[i], cut);
      begins_[cut].difference = hash_of_first(first_of(cut), seed) - all.sum;
    }
    if (++i < end) take_as_second(sequence.rows[i++], cut + 1);
    for (; i < end; ++i) take(sequence.rows[i]);
    ends_[cut + 1] = all;
  }
}

}  // namespace sframe_gen::emit::compact
