#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "cfi/rules.hpp"
#include "emit/encoded_rules.hpp"
#include "emit/encoder.hpp"

namespace sframe_gen::emit::compact {

/// What the rows would take if each function had a descriptor of its own, as SectionEncoder writes it.
struct DefaultSize {
  std::uint64_t descriptors = 0;
  std::uint64_t rows = 0;
  std::uint64_t start_bytes = 0;  ///< of rows
  std::uint64_t tail_bytes = 0;   ///< of rows

  DefaultSize& operator+=(const DefaultSize& other);
};

/// The input of a compact section: the rows of a file, or of a part of it, function by function.
class RowStream {
 public:
  /// A function, or the part of a function that rows cover. No row repeats the rule of the row before it.
  struct Function {
    std::uint64_t start;  ///< virtual address
    std::uint32_t size;   ///< bytes
    std::uint32_t first_row, rows;
    std::uint32_t part;  ///< index of the array that holds its rows
    bool follows;        ///< a descriptor may reach over what is between the function before and this one
    bool signal_frame;
    bool b_key;
    bool has_signed_row;  ///< otherwise no reader uses the key
  };

  /// Keeps the table. Streams that are joined share one. One descriptor may reach over what `is_padding`, if it is not
  /// empty, calls that.
  RowStream(const EncodedRules& encoded_rules, IsPadding is_padding)
      : encoded_rules_(encoded_rules), is_padding_(std::move(is_padding)), rows_(1) {}

  /// Reserves memory for so many functions.
  void expect(std::size_t functions);
  /// Functions and parts of functions come in ascending order and do not overlap. Each has a row at its start.
  void add(const FdeRows& fde);
  /// No descriptor may reach over what is between the last function and the next.
  void forbid_gap() { gap_is_forbidden_ = true; }
  /// Adds all of `other`, which comes after this.
  void append(RowStream&& other);

  const std::vector<Function>& functions() const { return functions_; }
  std::span<const EncodedRow> rows_of(const Function& function) const {
    return std::span(rows_[function.part]).subspan(function.first_row, function.rows);
  }
  const EncodedRules& encoded_rules() const { return encoded_rules_; }
  /// Descriptors that stay as they are: those of repeating code (PCMASK).
  const std::vector<FdeRows>& kept() const { return kept_; }
  const DefaultSize& default_size() const { return default_size_; }

 private:
  bool may_reach(std::uint64_t start) const;

  const EncodedRules& encoded_rules_;
  IsPadding is_padding_;
  std::vector<Function> functions_;
  std::vector<std::vector<EncodedRow>> rows_;  ///< by part; add() appends to the first
  std::vector<FdeRows> kept_;
  DefaultSize default_size_;
  bool first_gap_is_forbidden_ = false;  ///< the gap before the first function
  bool gap_is_forbidden_ = false;        ///< the gap after the last function
};

}  // namespace sframe_gen::emit::compact
