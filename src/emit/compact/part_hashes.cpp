#include "emit/compact/part_hashes.hpp"

#include "support/hash.hpp"

namespace sframe_gen::emit::compact {

namespace {

constexpr std::uint64_t factor = 0x9e3779b97f4a7c15U;

/// A row's share of a sum over rows, each times a power of an odd number for those behind it, modulo 2^64.
std::uint64_t hash_of(std::uint32_t distance, RuleId rule) {
  const std::uint64_t spread = (std::uint64_t{distance} << 32U | rule) * 0xff51afd7ed558ccdU;
  return spread ^ spread >> 32U;
}

}  // namespace

PartHashes::PartHashes(const Sequence& sequence)
    : parts_(std::make_unique_for_overwrite<std::uint32_t[]>(sequence.cuts.size() + 1)),
      roots_(std::make_unique_for_overwrite<std::uint32_t[]>(sequence.cuts.size())),
      groups_(std::make_unique_for_overwrite<std::uint8_t[]>(sequence.cuts.size())) {
  parts_[sequence.cuts.size()] = behind_none;
}

void PartHashes::add(const Sequence& sequence, const Stretch& stretch, std::uint32_t most_rows) {
  const Run& run = sequence.runs[stretch.run];
  const std::uint64_t seed = mixed((run.signal_frame ? 2U : 0U) + (run.b_key ? 1U : 0U));
  const auto first_of = [&](std::uint32_t cut) -> const Row& { return sequence.rows[sequence.cuts[cut].row]; };
  std::uint32_t offset_before = 0;
  std::uint32_t waiting = stretch.begin;  // cuts from there on have had no second row yet
  for (std::uint32_t cut = stretch.begin; cut < stretch.end; ++cut) {
    roots_[cut] = Root::none;
    const Row& first = first_of(cut);
    const Row* const begin = &first + (sequence.cuts[cut].repeats ? 1 : 0);
    const auto rows = static_cast<std::size_t>(sequence.rows.data() + sequence.end_of_rows(cut) - begin);
    if (rows == 0) {
      parts_[cut] = without_rows;
      continue;
    }
    std::uint64_t behind = 0, power = 1;
    for (const Row* row = begin + 1; row != begin + rows; ++row) {
      behind = behind * factor + hash_of(row->offset - row[-1].offset, row->rule);
      power *= factor;
    }
    // The sum over rows that follow another one.
    const auto sum_behind = [&](std::uint32_t offset) {
      return hash_of(begin->offset - offset, begin->rule) * power + behind;
    };
    parts_[cut] =
        static_cast<std::uint32_t>(mixed(sum_behind(offset_before)) >> 32U) / most_rows_of_part * most_rows_of_part +
        static_cast<std::uint32_t>(rows);
    offset_before = begin[rows - 1].offset;
    const auto set_root_of = [&](std::uint32_t begin_cut) {
      const Row& row = first_of(begin_cut);
      const std::uint64_t hash = (hash_of(0, row.rule) + seed) * power * factor + sum_behind(row.offset);
      set_root(begin_cut, hash, rows + 1, cut - begin_cut + 1, most_rows);
    };
    for (; waiting < cut; ++waiting) set_root_of(waiting);
    if (&first != begin) {
      set_root_of(cut);
      waiting = cut + 1;
    } else if (rows > 1) {
      set_root(cut, (hash_of(0, first.rule) + seed) * power + behind, rows, 1, most_rows);
      waiting = cut + 1;
    }
  }
  parts_[stretch.begin] = behind_none;
}

void PartHashes::set_root(std::uint32_t cut, std::uint64_t hash, std::size_t rows, std::uint32_t parts,
                          std::uint32_t most_rows) {
  if (rows > most_rows || parts >> Root::parts_bits != 0) return;
  const std::uint64_t spread = mixed(hash);
  groups_[cut] = static_cast<std::uint8_t>(spread >> (64 - group_bits));
  constexpr std::uint32_t said = most_rows_of_root << Root::parts_bits;
  roots_[cut] =
      static_cast<std::uint32_t>(spread) / said * said + parts * most_rows_of_root + static_cast<std::uint32_t>(rows);
}

}  // namespace sframe_gen::emit::compact
