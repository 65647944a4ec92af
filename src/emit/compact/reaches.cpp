#include "emit/compact/reaches.hpp"

#include <algorithm>

namespace sframe_gen::emit::compact {

Reaches::Reaches(const Sequence& sequence)
    : reaches_(std::make_unique_for_overwrite<Reach[]>(sequence.cuts.size() + 1)) {}

namespace {

/// The first cut from `from` on, but below `last`, of which `is_in` holds, or `last`; it holds of none before that cut,
/// and of all behind it. An end is a few cuts behind the one before it, how many no processor can guess: so four at a
/// time are looked at without a branch.
template <typename Predicate>
std::uint32_t first_in(std::uint32_t from, std::uint32_t last, Predicate is_in) {
  const auto out = [&](std::uint32_t cut) { return is_in(cut) ? 0U : 1U; };
  while (last - from >= 4) {
    const std::uint32_t passed = out(from) + out(from + 1) + out(from + 2) + out(from + 3);
    from += passed;
    if (passed < 4) return from;
  }
  std::uint32_t passed = 0;
  for (std::uint32_t cut = from; cut < last; ++cut) passed += out(cut);
  return from + passed;
}

}  // namespace

/// The further a block reaches, the later it has to begin: so none of the three ever goes back.
void Reaches::add(const Stretch& stretch, const BlockSizes& sizes, std::uint32_t most_rows) {
  std::uint32_t rows = stretch.begin, wide = stretch.begin, narrow = stretch.begin;
  const auto from_first = [&](std::uint32_t cut) { return static_cast<std::uint16_t>(cut - stretch.begin); };
  for (std::uint32_t end = stretch.begin + 1; end <= stretch.end; ++end) {
    // One part is never too long.
    rows = first_in(rows, end - 1, [&](std::uint32_t begin) { return sizes.rows(begin, end) <= most_rows; });
    wide = std::max(wide, rows);
    while (wide < end && !(sizes.is_plain(wide, end) && sizes.last_start(wide, end) <= UINT16_MAX)) ++wide;
    narrow = std::max(narrow, wide);
    const auto starts_are_narrow = [&](std::uint32_t begin) { return sizes.last_start(begin, end) <= UINT8_MAX; };
    // Of functions of the usual size, there is room for one, two or three.
    if (end - narrow > 4 && !starts_are_narrow(end - 4)) narrow = end - 3;
    narrow = first_in(narrow, end, starts_are_narrow);
    reaches_[end] = {from_first(rows), from_first(wide), from_first(narrow)};
  }
}

}  // namespace sframe_gen::emit::compact
