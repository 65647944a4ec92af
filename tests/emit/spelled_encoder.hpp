#pragma once

#include <utility>

#include "emit/compact/rows.hpp"
#include "emit/encoder.hpp"
#include "emit/rule_table.hpp"

namespace sframe_gen::test {

/// An encoder of functions with their rules in place of numbers.
class SpelledEncoder : public emit::SectionEncoder {
 public:
  explicit SpelledEncoder(const emit::Dialect& dialect) : SectionEncoder(dialect), rules_(dialect) {}
  void add(const sframe::Fde& fde) { SectionEncoder::add(emit::numbered(fde, rules_), rules_); }

 private:
  emit::RuleTable rules_;
};

/// A stream of them. Streams that are joined share one table.
class SpelledStream : public emit::compact::RowStream {
 public:
  SpelledStream(emit::RuleTable& rules, emit::compact::IsPadding is_padding)
      : RowStream(rules, std::move(is_padding)), table_(rules) {}
  void add(const sframe::Fde& fde) { RowStream::add(emit::numbered(fde, table_)); }

 private:
  emit::RuleTable& table_;
};

}  // namespace sframe_gen::test
