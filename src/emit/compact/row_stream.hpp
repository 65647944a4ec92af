#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "emit/compact/gaps.hpp"
#include "emit/dialect.hpp"
#include "emit/rule_table.hpp"
#include "sframe_gen/section.hpp"

namespace sframe_gen::emit::compact {

struct Row {
  std::uint32_t offset;  ///< bytes from the start of the piece, later of the run
  RuleId rule;           ///< in a piece, with cut_before_row
};

/// The rules of a stream's rows, numbered in the order in which they come first. Numbers of the RuleTable depend on the
/// timing of threads, and what is hashed here must not.
class UsedRules {
 public:
  explicit UsedRules(const RuleTable& table) : table_(&table) {}

  RuleId number_of(RuleId rule) {
    if (rule >= numbers_.size()) numbers_.resize(std::max<std::size_t>(rule + 1, table_->size()), unused);
    if (numbers_[rule] == unused) {
      numbers_[rule] = static_cast<RuleId>(rules_.size());
      rules_.push_back(rule);
    }
    return numbers_[rule];
  }

  std::size_t size() const { return rules_.size(); }
  RuleId rule(RuleId number) const { return rules_[number]; }
  const RowTail& tail(RuleId number, sframe::FdeType type) const { return table_->tail(rules_[number], type); }
  bool is_signed(RuleId number) const { return table_->words(rules_[number]).is_signed; }

 private:
  static constexpr RuleId unused = UINT32_MAX;
  const RuleTable* table_;
  std::vector<RuleId> rules_;    ///< of the table, by number
  std::vector<RuleId> numbers_;  ///< by rule of the table
};

/// A descriptor may begin at a row inside a function: with a row's rule.
inline constexpr RuleId cut_before_row = RuleId{1} << 31U;

/// Bytes without a row behind which it may: there an epilogue begins, which others may have as well.
inline constexpr std::uint32_t stretch_before_cut = 8;

/// More rows than this in a stretch without a cut would leave few ways to fill a descriptor.
inline constexpr std::uint32_t most_rows_without_cut = 8;

/// A function, or the part of one that rows cover. None of its rows says what the one before it says.
struct Piece {
  std::uint64_t start;  ///< virtual address
  std::uint32_t size;   ///< bytes
  std::uint32_t first_row, rows;
  std::uint32_t cuts;  ///< places where a descriptor may begin, with its start
  RuleId first_rule, last_rule;
  bool follows;  ///< only padding, or nothing, stands between it and the piece before it
  bool signal_frame;
  bool b_key;
  bool has_signed_row;  ///< else nobody asks for the key
};

/// What the rows would take if each function had a descriptor of its own, as SectionEncoder writes it.
struct DefaultSize {
  std::uint64_t descriptors = 0;
  std::uint64_t rows = 0;
  std::uint64_t start_bytes = 0;  ///< of rows
  std::uint64_t tail_bytes = 0;   ///< of rows
};

/// The rows of a file, or of a part of it, function by function.
class RowStream {
 public:
  /// `gaps` null: nothing is known of what stands between functions.
  RowStream(const RuleTable& rules, const Gaps* gaps) : dialect_(rules.dialect()), gaps_(gaps), rules_(rules) {}

  /// So many functions are to come, most likely: no more memory is touched for that than they take in the end.
  void expect(std::size_t functions);
  /// Functions and parts of functions come in ascending order and do not overlap. Each has a row at its start.
  /// Rules are those of the table.
  void add(const NumberedFde& fde);
  /// What stands between the last function and the next one is not for rows.
  void forbid_gap() { gap_forbidden_ = true; }
  /// All of `other`, which comes after this: the same as if its functions had been added here.
  void append(RowStream&& other);

  /// Pieces that were added to one stream.
  struct Part {
    std::vector<Piece> pieces;
    std::vector<Row> rows;
    std::vector<RuleId> rules;  ///< what its numbers are here; none: the same

    RuleId rule(RuleId own) const { return rules.empty() ? own : rules[own]; }
  };
  /// Where the last piece ends.
  std::uint64_t end() const { return end_; }
  std::vector<Part> release_parts();
  const UsedRules& rules() const { return rules_; }
  /// Descriptors that stay as they are: those of repeated blocks, with rules of the stream.
  const std::vector<NumberedFde>& kept() const { return kept_; }
  const DefaultSize& default_size() const { return default_size_; }

 private:
  void keep(const NumberedFde& fde);
  void begin_part();
  void know_all_rules();
  bool follows(std::uint64_t start) const;

  Dialect dialect_;
  const Gaps* gaps_;
  UsedRules rules_;
  /// What each row needs of its rule.
  struct Known {
    std::uint8_t plain, flexible;  ///< bytes of the tail
    bool is_signed;
  };
  std::vector<Known> known_;  ///< by rule
  std::vector<Part> parts_;   ///< those before the pieces and rows below
  std::vector<Piece> pieces_;
  std::vector<Row> rows_;
  bool is_empty_ = true;  ///< no piece
  std::uint64_t end_ = 0;
  std::vector<NumberedFde> kept_;
  DefaultSize default_size_;
  bool first_forbidden_ = false;  ///< what stands before the first piece is not for rows
  bool gap_forbidden_ = false;
};

}  // namespace sframe_gen::emit::compact
