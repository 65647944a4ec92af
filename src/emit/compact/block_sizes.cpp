#include "emit/compact/block_sizes.hpp"

namespace sframe_gen::emit::compact {

BlockSizes::BlockSizes(const Sequence& sequence, const RuleTable& rules, const Dialect& dialect)
    : attribute_size_(dialect.version->splits_descriptor ? sframe::fde_attribute::repeat_size_at + 1 : 0),
      nodes_(std::make_unique_for_overwrite<Node[]>(sequence.cuts.size() + 1)),
      flexible_(std::make_unique_for_overwrite<Flexible[]>(sequence.cuts.size() + 1)) {
  for (RuleId rule = 0; rule < rules.size(); ++rule) {
    const std::size_t plain = rules.tail(rule, sframe::FdeType::Default).size();
    const std::size_t flexible = rules.tail(rule, sframe::FdeType::Flexible).size();
    tails_.push_back({static_cast<std::uint8_t>(plain), static_cast<std::uint8_t>(flexible),
                      static_cast<std::uint8_t>(plain == 0 ? 1 : 0)});
  }
}

/// Of the cut behind the last one, which may be another stretch's first, sets what is said of blocks that end there.
void BlockSizes::add(const Sequence& sequence, const Stretch& stretch) {
  Sums sums{0, 0, 0};
  std::uint32_t flexible = 0, row_before = 0;
  for (std::uint32_t cut = stretch.begin; cut < stretch.end; ++cut) {
    std::uint32_t row = sequence.cuts[cut].row;
    Node& node = nodes_[cut];
    node.begin = sums;
    node.offset = sequence.rows[row].offset;
    flexible_[cut].begin = flexible;
    if (sequence.cuts[cut].repeats) {
      const Tails& own = tails_[sequence.rows[row].rule];
      node.begin = {sums.rows - 1, sums.plain - own.plain, sums.only_flexible - own.only_flexible};
      flexible_[cut].begin -= own.flexible;
      ++row;
    }
    for (const std::uint32_t end = sequence.end_of_rows(cut); row < end; ++row) {
      const Tails& tail = tails_[sequence.rows[row].rule];
      ++sums.rows;
      sums.plain += tail.plain;
      sums.only_flexible += tail.only_flexible;
      flexible += tail.flexible;
      row_before = sequence.rows[row].offset;
    }
    nodes_[cut + 1].end = sums;
    nodes_[cut + 1].row_before = row_before;
    flexible_[cut + 1].end = flexible;
  }
}

}  // namespace sframe_gen::emit::compact
