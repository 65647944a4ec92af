#include "emit/compact/part_hashes.hpp"

namespace sframe_gen::emit::compact {

PartHashes::PartHashes(const Sequence& sequence)
    : parts_(std::make_unique_for_overwrite<std::uint32_t[]>(sequence.cuts.size() + 1)),
      roots_(std::make_unique_for_overwrite<std::uint32_t[]>(sequence.cuts.size())),
      groups_(std::make_unique_for_overwrite<std::uint8_t[]>(sequence.cuts.size())) {
  parts_[sequence.cuts.size()] = behind_none;
}

void PartHashes::Adder::add(std::uint32_t cut, const Row& at_cut, const Row* begin, const Row* end,
                            const Behind& behind) {
  roots_[cut] = Root::none;
  const auto rows = static_cast<std::size_t>(end - begin);
  // The sum over rows that follow another one.
  const auto sum_behind = [&](std::uint32_t offset) {
    return hash_of(begin->offset - offset, begin->rule) * behind.power + behind.sum;
  };
  parts_[cut] =
      static_cast<std::uint32_t>(mixed(sum_behind(offset_before_)) >> 32U) / most_rows_of_part * most_rows_of_part +
      static_cast<std::uint32_t>(rows);
  offset_before_ = end[-1].offset;
  const auto set_root_of = [&](std::uint32_t begin_cut, const Row& row) {
    const std::uint64_t hash = (hash_of(0, row.rule) + seed_) * behind.power * factor + sum_behind(row.offset);
    set_root(begin_cut, hash, rows + 1, cut - begin_cut + 1);
  };
  for (; waiting_ < cut; ++waiting_) set_root_of(waiting_, sequence_.rows[sequence_.cuts[waiting_].row]);
  if (&at_cut != begin) {
    set_root_of(cut, at_cut);
    waiting_ = cut + 1;
  } else if (rows > 1) {
    set_root(cut, (hash_of(0, at_cut.rule) + seed_) * behind.power + behind.sum, rows, 1);
    waiting_ = cut + 1;
  }
}

void PartHashes::Adder::set_root(std::uint32_t cut, std::uint64_t hash, std::size_t rows, std::uint32_t parts) {
  if (rows > most_rows_ || parts >> Root::parts_bits != 0) return;
  const std::uint64_t spread = mixed(hash);
  groups_[cut] = static_cast<std::uint8_t>(spread >> (64 - group_bits));
  constexpr std::uint32_t said = most_rows_of_root << Root::parts_bits;
  roots_[cut] =
      static_cast<std::uint32_t>(spread) / said * said + parts * most_rows_of_root + static_cast<std::uint32_t>(rows);
}

}  // namespace sframe_gen::emit::compact
