#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cfi/rules.hpp"
#include "emit/dialect.hpp"
#include "emit/fre_encoder.hpp"
#include "sframe_gen/coverage.hpp"
#include "sframe_gen/section.hpp"

namespace sframe_gen::emit {

using cfi::RuleId;

/// The rules of a conversion, each with the bytes that SFrame has for it, or the reason why it has none. These are
/// worked out when the rules get their number.
class RuleTable final : public cfi::RuleTable {
 public:
  static constexpr RuleId no_rule = UINT32_MAX;

  explicit RuleTable(const Dialect& dialect) : dialect_(dialect) {}

  enum class Form : std::uint8_t {
    None,        ///< SFrame cannot say it
    PltEntries,  ///< rules[rule].cfa is a PltStub, which takes rows of its own
    Outermost,   ///< RA undefined; any descriptor can hold it
    Default,     ///< any descriptor can hold it
    Flexible
  };
  struct Words {
    Form form = Form::None;
    Unrepresentable obstacle{};  ///< with Form::None
    bool is_signed = false;      ///< the return address
    RuleId first = no_rule;      ///< the number that all rules with these bytes share
    RowTail plain, flexible;     ///< of no bytes: this kind of descriptor cannot say the rule
  };
  /// Which rules a thread may ask for: as of operator[].
  const Words& words(RuleId rule) const { return words_[rule]; }
  const RowTail& tail(RuleId rule, sframe::FdeType type) const {
    return type == sframe::FdeType::Default ? words_[rule].plain : words_[rule].flexible;
  }
  const Dialect& dialect() const { return dialect_; }

  using cfi::RuleTable::intern;
  /// The number of rules that come from a section and fit the dialect; without a value: RA undefined. Not for a table
  /// of DWARF's rules.
  RuleId intern(const std::optional<sframe::RecoveryRules>& recovery);

 private:
  void add_details(RuleId rule, const cfi::Rules& rules) override;
  Words encoded(const std::optional<sframe::RecoveryRules>& recovery) const;
  std::optional<RuleId> find(const Words& words) const;
  void add_words(Words words, RuleId rule);

  Dialect dialect_;
  ByRule<Words> words_;
  HashedNumbers numbers_;       ///< of `firsts_`, by words
  std::vector<RuleId> firsts_;  ///< one for all rules with the same words
};

/// An sframe::Fde whose rows have their rules by number: Words::first.
struct NumberedFde {
  std::uint64_t start = 0;
  std::uint32_t size = 0;
  bool signal_frame = false;
  bool b_key = false;
  sframe::PcType pc_type = sframe::PcType::Increment;
  std::uint8_t repeat_size = 0;
  sframe::FdeType type = sframe::FdeType::Default;
  std::vector<cfi::Row> fres;
};

/// Of a function that comes from a section.
NumberedFde numbered(const sframe::Fde& fde, RuleTable& rules);

}  // namespace sframe_gen::emit
