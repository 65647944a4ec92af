#include "emit/compact/row_hashes.hpp"

#include "support/hash.hpp"

namespace sframe_gen::emit::compact {

namespace {

constexpr std::uint64_t factor = 0x9e3779b97f4a7c15U;

std::uint64_t hash_of(std::uint32_t distance, RuleId rule) {
  return mixed(std::uint64_t{distance} << 32U | rule);
}

}  // namespace

RowHashes::RowHashes(const Sequence& sequence, std::uint32_t most_rows)
    : sums_(sequence.cuts.size() + 1), starts_(sequence.cuts.size()), powers_(most_rows + 1, 1) {
  for (std::size_t i = 1; i < powers_.size(); ++i) powers_[i] = powers_[i - 1] * factor;

  std::uint64_t sum = 0;
  std::uint32_t offset_before = 0;
  for (std::size_t run = 0; run < sequence.runs.size(); ++run) {
    const Run& properties = sequence.runs[run];
    const std::uint64_t seed = mixed((properties.signal_frame ? 2U : 0U) + (properties.b_key ? 1U : 0U));
    Start* repeating = nullptr;  // one that repeats, until its second row comes
    std::uint32_t repeating_offset = 0;
    for (std::uint32_t cut = properties.first_cut; cut < sequence.end_of_cuts(run); ++cut) {
      std::uint32_t i = sequence.cuts[cut].row;
      const std::uint32_t end = sequence.end_of_rows(cut);
      const Row& first = sequence.rows[i];
      Start& start = starts_[cut];
      sums_[cut] = sum;
      start.alone = hash_of(0, first.rule) + seed;
      if (sequence.cuts[cut].repeats) {
        repeating = &start;
        start.rows = 2;
        repeating_offset = first.offset;
        if (++i == end) continue;
      }
      const Row& added = sequence.rows[i++];
      sum = sum * factor + hash_of(added.offset - offset_before, added.rule);
      if (repeating != nullptr) {
        repeating->difference = repeating->alone * factor + hash_of(added.offset - repeating_offset, added.rule) - sum;
      }
      if (repeating != &start) start.difference = start.alone - sum;
      repeating = nullptr;
      offset_before = added.offset;
      for (; i < end; ++i) {
        const Row& row = sequence.rows[i];
        sum = sum * factor + hash_of(row.offset - offset_before, row.rule);
        offset_before = row.offset;
      }
    }
  }
  sums_.back() = sum;
}

}  // namespace sframe_gen::emit::compact
