#pragma once

#include <cstdint>
#include <vector>

#include "cfi/numbered_rules.hpp"
#include "emit/lower.hpp"
#include "emit/rule_table.hpp"

namespace sframe_gen::emit {

/// What SFrame says of numbered rules, each worked out when it is asked for first.
class LoweredRules {
 public:
  LoweredRules(const Dialect& dialect, const cfi::NumberedRules& rules)
      : dialect_(dialect), rules_(rules), generation_(rules.generation()), table_(dialect) {}

  /// The row that says a rule.
  struct Row {
    enum class Kind : std::uint8_t {
      Unknown,  ///< to LoweredRules alone: it is not worked out
      None,
      Default,  ///< any descriptor can hold it
      Flexible
    };
    Kind kind = Kind::Unknown;
    RuleId rule = 0;
  };

  Row row(cfi::RuleNumber number) {
    const auto index = static_cast<std::size_t>(number);
    if (index >= rows_.size() || rows_[index].kind == Row::Kind::Unknown) work_out(number);
    return rows_[index];
  }
  /// As emit::lower. Valid until the next call.
  const Lowered& lowered(cfi::RuleNumber number) {
    row(number);
    return lowered_[static_cast<std::size_t>(number)];
  }
  /// What rows say.
  RuleTable& table() { return table_; }
  const RuleTable& table() const { return table_; }

  /// To be called where no earlier number is in use.
  void keep_up_with_generation();

 private:
  void work_out(cfi::RuleNumber number);

  Dialect dialect_;
  const cfi::NumberedRules& rules_;
  std::uint32_t generation_;
  std::vector<Lowered> lowered_;
  std::vector<Row> rows_;  ///< apart, as they are asked for by the million
  RuleTable table_;
};

}  // namespace sframe_gen::emit
