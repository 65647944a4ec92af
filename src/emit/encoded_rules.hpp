#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "cfi/rules.hpp"
#include "emit/dialect.hpp"
#include "sframe/format.hpp"
#include "sframe_gen/reasons.hpp"
#include "sframe_gen/section.hpp"
#include "support/containers.hpp"
#include "support/hash.hpp"

/// The bytes of rules. A rule of the unwind table has a number (cfi::RuleId), and so has what a section's rows have for
/// it. Rules of equal bytes have one number here.
namespace sframe_gen::emit {

/// A row without its start: the info byte and the data words.
class RowTail {
 public:
  static constexpr std::size_t longest = 1 + 6 * 4;

  /// Adds the low `width` bytes (1, 2 or 4) of `value`.
  void add(std::uint32_t value, unsigned width, Endian endian);

  std::span<const std::byte> bytes() const { return std::span(bytes_).first(size_); }
  std::size_t size() const { return size_; }
  /// As long as any, whatever the size.
  const std::array<std::byte, longest>& padded() const { return bytes_; }
  friend bool operator==(const RowTail&, const RowTail&) = default;

 private:
  std::array<std::byte, longest> bytes_{};
  std::uint8_t size_ = 0;
};

/// Returns the info byte, and data words of the narrowest width that holds them all. Without a value: RA undefined.
RowTail encode_tail(const std::optional<sframe::RecoveryRules>& recovery, sframe::FdeType type, const Dialect& dialect);

/// What rows have for one rule.
struct EncodedRule {
  RowTail in_default, in_flexible;  ///< of no bytes: rows of this kind of descriptor cannot represent the rule
  bool is_outermost = false;        ///< RA is undefined
  bool is_signed = false;           ///< the return address
};

/// The number of an encoded rule. Which number a rule gets depends on which thread asks first: nothing may be ordered
/// by it.
using EncodedRuleId = std::uint32_t;

/// The encoded rules of a conversion, each once.
class EncodedRules {
 public:
  /// Stands for none.
  static constexpr EncodedRuleId none = UINT32_MAX;

  explicit EncodedRules(const Dialect& dialect) : dialect_(dialect) {}

  /// Returns the number of these rules' bytes, which the dialect can represent. Without a value: RA undefined. Any
  /// thread may call it. Throws std::length_error where there are too many.
  EncodedRuleId intern(const std::optional<sframe::RecoveryRules>& recovery);
  /// Which numbers a thread may ask for: as of cfi::RuleTable.
  const EncodedRule& operator[](EncodedRuleId id) const { return encoded_rules_[id]; }
  const RowTail& tail(EncodedRuleId id, sframe::FdeType type) const {
    return type == sframe::FdeType::Default ? encoded_rules_[id].in_default : encoded_rules_[id].in_flexible;
  }
  std::size_t size() const { return encoded_rules_.size(); }
  const Dialect& dialect() const { return dialect_; }

 private:
  Dialect dialect_;
  std::mutex mutex_;
  StableVector<EncodedRule, cfi::RuleTable::most_rules> encoded_rules_;
  HashedNumbers numbers_;
};

/// A rule that takes one row.
struct SingleRow {
  EncodedRuleId rule;
  bool fits_default;  ///< rows of a default descriptor can represent it, not only those of a flexible one
  bool is_outermost;
};
/// A rule of the entries of a PLT (cfi::PltStub): each takes a row up to `threshold`, and one from there on.
struct PltRows {
  EncodedRuleId before, after;
  std::uint8_t threshold;  ///< bytes from the start of an entry
};
/// What SFrame has for a rule of the unwind table, or why it has nothing.
using TranslatedRule = std::variant<SingleRow, PltRows, Unrepresentable>;

/// What the rules of a table become.
class RuleTranslations {
 public:
  /// Keeps both.
  RuleTranslations(const cfi::RuleTable& rules, EncodedRules& encoded_rules)
      : rules_(rules), encoded_rules_(encoded_rules) {}

  /// Returns what becomes of a rule, which is worked out when a thread asks for it or for a higher number first. Which
  /// rules a thread may ask for: as of cfi::RuleTable.
  const TranslatedRule& of(cfi::RuleId rule) {
    if (rule >= worked_out_.load(std::memory_order_acquire)) work_out(rule);
    return by_rule_[rule];
  }
  const EncodedRules& encoded_rules() const { return encoded_rules_; }

 private:
  void work_out(cfi::RuleId last);
  TranslatedRule translate(const cfi::Rules& rules);

  const cfi::RuleTable& rules_;
  EncodedRules& encoded_rules_;
  std::mutex mutex_;
  StableVector<TranslatedRule, cfi::RuleTable::most_rules> by_rule_;
  std::atomic<std::size_t> worked_out_ = 0;  ///< the size of `by_rule_`, for threads that read it
};

/// What holds from an offset on, to the next row or to the descriptor's end.
struct EncodedRow {
  std::uint32_t pc_offset = 0;  ///< bytes from the start of the descriptor's code
  EncodedRuleId rule = 0;
  friend bool operator==(const EncodedRow&, const EncodedRow&) = default;
};

/// An FDE of a section that is being made: sframe::Fde with numbers for rules.
struct FdeRows {
  std::uint64_t start = 0;
  std::uint32_t size = 0;
  bool signal_frame = false;
  bool b_key = false;
  sframe::PcType pc_type = sframe::PcType::Increment;
  std::uint8_t repeat_size = 0;
  sframe::FdeType type = sframe::FdeType::Default;
  std::vector<EncodedRow> rows;
};

/// Returns the FDE with numbers for its rules, which the dialect can represent.
FdeRows with_encoded_rules(const sframe::Fde& fde, EncodedRules& encoded_rules);

/// Returns the width of row starts. GNU as takes it from the function's size, never from the largest row start: 255 →
/// 1, 256 → 2, 65536 → 4. Padding, over which a function may go on later, does not count.
sframe::FreAddressWidth fre_address_width(std::uint32_t function_size);

/// Returns how many bytes so many rows take at most while they are written.
constexpr std::size_t room_of_rows(std::size_t rows, sframe::FreAddressWidth width) {
  return rows * (bytes_of(width) + RowTail::longest);
}

/// Writes rows as a section has them, one after the other, with `shift` added to their offsets, to a place with room
/// for them. Returns the end of the last.
std::byte* put_rows(std::span<const EncodedRow> rows, std::uint32_t shift, sframe::FreAddressWidth width,
                    sframe::FdeType type, const EncodedRules& encoded_rules, std::byte* place);

}  // namespace sframe_gen::emit
