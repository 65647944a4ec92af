#include "emit/compact/block_sizes.hpp"

namespace sframe_gen::emit::compact {

BlockSizes::BlockSizes(const Sequence& sequence, const RuleTable& rules, const Dialect& dialect)
    : attribute_size_(dialect.version->splits_descriptor ? sframe::fde_attribute::repeat_size_at + 1 : 0),
      nodes_(sequence.cuts.size() + 1),
      flexible_(sequence.cuts.size() + 1) {
  struct Tails {
    std::uint8_t plain, flexible, only_flexible;
  };
  std::vector<Tails> tails;
  for (RuleId rule = 0; rule < rules.size(); ++rule) {
    const std::size_t plain = rules.tail(rule, sframe::FdeType::Default).size();
    const std::size_t flexible = rules.tail(rule, sframe::FdeType::Flexible).size();
    tails.push_back({static_cast<std::uint8_t>(plain), static_cast<std::uint8_t>(flexible),
                     static_cast<std::uint8_t>(plain == 0 ? 1 : 0)});
  }

  Sums sums;
  std::uint32_t flexible = 0, row_before = 0;
  for (std::uint32_t cut = 0; cut < sequence.cuts.size(); ++cut) {
    std::uint32_t row = sequence.cuts[cut].row;
    nodes_[cut] = {sums, sums, sequence.rows[row].offset, row_before};
    flexible_[cut] = {flexible, flexible};
    if (sequence.cuts[cut].repeats) {
      const Tails& own = tails[sequence.rows[row].rule];
      Sums& begin = nodes_[cut].begin;
      begin = {begin.rows - 1, begin.plain - own.plain, begin.only_flexible - own.only_flexible};
      flexible_[cut].begin -= own.flexible;
      ++row;
    }
    for (const std::uint32_t end = sequence.end_of_rows(cut); row < end; ++row) {
      const Tails& tail = tails[sequence.rows[row].rule];
      ++sums.rows;
      sums.plain += tail.plain;
      sums.only_flexible += tail.only_flexible;
      flexible += tail.flexible;
      row_before = sequence.rows[row].offset;
    }
  }
  nodes_.back() = {sums, sums, 0, row_before};
  flexible_.back() = {flexible, flexible};
}

}  // namespace sframe_gen::emit::compact
