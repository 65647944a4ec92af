#include "emit/compact/block_sizes.hpp"

namespace sframe_gen::emit::compact {

BlockSizes::BlockSizes(const Sequence& sequence, const UsedRules& rules, const Dialect& dialect)
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

}  // namespace sframe_gen::emit::compact
