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
#include "sframe_gen/coverage.hpp"
#include "sframe_gen/section.hpp"
#include "support/bytes.hpp"
#include "support/containers.hpp"
#include "support/hash.hpp"

/// The bytes of rules. A rule of the unwind table has a number (cfi::RuleId), and so has the form that it takes in a
/// section. Rules of equal bytes have one form.
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
struct Form {
  RowTail in_default, in_flexible;  ///< of no bytes: rows of this kind of descriptor cannot represent the rule
  bool is_outermost = false;        ///< RA is undefined
  bool is_signed = false;           ///< the return address
};

/// The number of a form. Which number a form gets depends on which thread asks first: nothing may be ordered by it.
using FormId = std::uint32_t;

/// The forms of a conversion, each once.
class Forms {
 public:
  /// Stands for none.
  static constexpr FormId none = UINT32_MAX;

  explicit Forms(const Dialect& dialect) : dialect_(dialect) {}

  /// Returns the number of the form of these rules, which the dialect can represent. Without a value: RA undefined. Any
  /// thread may call it. Throws std::length_error where there are too many.
  FormId intern(const std::optional<sframe::RecoveryRules>& recovery);
  /// Which forms a thread may ask for: as of cfi::RuleTable.
  const Form& operator[](FormId form) const { return forms_[form]; }
  const RowTail& tail(FormId form, sframe::FdeType type) const {
    return type == sframe::FdeType::Default ? forms_[form].in_default : forms_[form].in_flexible;
  }
  std::size_t size() const { return forms_.size(); }
  const Dialect& dialect() const { return dialect_; }

 private:
  Dialect dialect_;
  std::mutex mutex_;
  StableVector<Form, cfi::RuleTable::most_rules> forms_;
  HashedNumbers numbers_;
};

/// A rule that takes one row.
struct RowForm {
  FormId form;
  bool fits_default;  ///< rows of a default descriptor can represent it, not only those of a flexible one
  bool is_outermost;
};
/// A rule of the entries of a PLT (cfi::PltStub): each takes a row up to `threshold`, and one from there on.
struct PltForms {
  FormId before, after;
  std::uint8_t threshold;  ///< bytes from the start of an entry
};
/// What SFrame has for a rule of the unwind table, or why it has nothing.
using RuleForm = std::variant<RowForm, PltForms, Unrepresentable>;

/// The forms of the rules of a table.
class RuleForms {
 public:
  /// Keeps both.
  RuleForms(const cfi::RuleTable& rules, Forms& forms) : rules_(rules), forms_(forms) {}

  /// Returns the form of a rule, which is worked out when a thread asks for it or for a higher number first. Which
  /// rules a thread may ask for: as of cfi::RuleTable.
  const RuleForm& of(cfi::RuleId rule) {
    if (rule >= worked_out_.load(std::memory_order_acquire)) work_out(rule);
    return by_rule_[rule];
  }
  const Forms& forms() const { return forms_; }

 private:
  void work_out(cfi::RuleId last);
  RuleForm form_of(const cfi::Rules& rules);

  const cfi::RuleTable& rules_;
  Forms& forms_;
  std::mutex mutex_;
  StableVector<RuleForm, cfi::RuleTable::most_rules> by_rule_;
  std::atomic<std::size_t> worked_out_ = 0;  ///< the size of `by_rule_`, for threads that read it
};

/// What holds from an offset on, to the next row or to the descriptor's end.
struct Row {
  std::uint32_t pc_offset = 0;  ///< bytes from the start of the descriptor's code
  FormId form = 0;
  friend bool operator==(const Row&, const Row&) = default;
};

/// An FDE of a section that is being made: sframe::Fde with forms for rules.
struct Fde {
  std::uint64_t start = 0;
  std::uint32_t size = 0;
  bool signal_frame = false;
  bool b_key = false;
  sframe::PcType pc_type = sframe::PcType::Increment;
  std::uint8_t repeat_size = 0;
  sframe::FdeType type = sframe::FdeType::Default;
  std::vector<Row> rows;
};

/// Returns the FDE with forms for its rules, which the dialect can represent.
Fde with_forms(const sframe::Fde& fde, Forms& forms);

/// Returns the width of row starts. GNU as takes it from the function's size, never from the largest row start: 255 →
/// 1, 256 → 2, 65536 → 4. Padding, over which a function may go on later, does not count.
sframe::FreAddressWidth fre_address_width(std::uint32_t function_size);

/// Writes rows as a section has them, one after the other, with `shift` added to their offsets.
void append_rows(std::span<const Row> rows, std::uint32_t shift, sframe::FreAddressWidth width, sframe::FdeType type,
                 const Forms& forms, ByteWriter& writer);

}  // namespace sframe_gen::emit
