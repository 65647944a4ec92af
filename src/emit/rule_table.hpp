#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "emit/dialect.hpp"
#include "emit/fre_encoder.hpp"
#include "sframe_gen/section.hpp"
#include "support/hashed_numbers.hpp"

namespace sframe_gen::emit {

using RuleId = std::uint32_t;

/// What rows say, each rule once, with the bytes that say it. A file's millions of rows say a few hundred rules.
class RuleTable {
 public:
  static constexpr RuleId no_rule = UINT32_MAX;

  explicit RuleTable(const Dialect& dialect) : dialect_(dialect) {}

  RuleId id_of(const std::optional<sframe::RecoveryRules>& recovery);

  const std::optional<sframe::RecoveryRules>& recovery(RuleId rule) const { return rules_[rule].recovery; }
  /// Of no bytes: this kind of descriptor cannot say the rule.
  const RowTail& tail(RuleId rule, sframe::FdeType type) const {
    return type == sframe::FdeType::Default ? rules_[rule].plain : rules_[rule].flexible;
  }
  std::size_t size() const { return rules_.size(); }

  /// Numbers begin anew, for other rules.
  void clear();
  /// How often they did.
  std::uint32_t generation() const { return generation_; }

 private:
  struct Entry {
    std::optional<sframe::RecoveryRules> recovery;
    RowTail plain, flexible;
  };

  Entry encode(const std::optional<sframe::RecoveryRules>& recovery) const;

  Dialect dialect_;
  std::vector<Entry> rules_;
  HashedNumbers numbers_;
  std::uint32_t generation_ = 0;
};

}  // namespace sframe_gen::emit
