#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "cfi/rules.hpp"
#include "emit/dialect.hpp"
#include "emit/fre_encoder.hpp"
#include "emit/lower.hpp"
#include "sframe_gen/section.hpp"
#include "support/hash.hpp"

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

/// A row whose rule is one of a RuleTable.
struct NumberedFre {
  std::uint32_t pc_offset = 0;
  RuleId rule = 0;
};

/// An sframe::Fde with such rows.
struct NumberedFde {
  std::uint64_t start = 0;
  std::uint32_t size = 0;
  bool signal_frame = false;
  bool b_key = false;
  sframe::PcType pc_type = sframe::PcType::Increment;
  std::uint8_t repeat_size = 0;
  sframe::FdeType type = sframe::FdeType::Default;
  std::vector<NumberedFre> fres;
};

sframe::Fde spelled_out(const NumberedFde& fde, const RuleTable& rules);

}  // namespace sframe_gen::emit
