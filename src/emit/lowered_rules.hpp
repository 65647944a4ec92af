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

  struct Entry {
    Lowered lowered;
    bool is_row = false;
    RuleId rule = 0;           ///< where it is a row
    bool fits_default = true;  ///< a default descriptor can hold the row, where it is one
    bool is_known = false;
  };

  /// As emit::lower. Valid until the next call.
  const Entry& operator[](cfi::RuleNumber number) {
    const auto index = static_cast<std::size_t>(number);
    if (index >= entries_.size() || !entries_[index].is_known) work_out(number);
    return entries_[index];
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
  std::vector<Entry> entries_;
  RuleTable table_;
};

}  // namespace sframe_gen::emit
