#include "cfi/rules.hpp"

namespace sframe_gen::cfi {

namespace {

constexpr std::size_t many = std::size_t{1} << 16;

}  // namespace

RuleNumber NumberedRules::number_of(const Rules& rules) {
  const std::uint64_t hash = hash_of(rules);
  const auto known = numbers_.find(hash, [&](std::uint32_t number) { return rules_[number] == rules; });
  if (known) return RuleNumber{*known};
  rules_.push_back(rules);
  return RuleNumber{numbers_.add(hash)};
}

void NumberedRules::forget_if_many() {
  if (rules_.size() >= many) forget();
}

void NumberedRules::forget() {
  rules_.clear();
  numbers_.clear();
  ++generation_;
}

std::vector<FrameRow> spelled_out(const std::vector<NumberedRow>& rows, const NumberedRules& rules) {
  std::vector<FrameRow> result;
  result.reserve(rows.size());
  for (const NumberedRow& row : rows) result.push_back({row.pc_offset, rules[row.rules]});
  return result;
}

FunctionFrames spelled_out(const NumberedFrames& function, const NumberedRules& rules) {
  return {function.start, function.size,       function.signal_frame, spelled_out(function.rows, rules),
          function.b_key, function.repeat_size};
}

NumberedFrames numbered(const FunctionFrames& function, NumberedRules& rules) {
  NumberedFrames result{function.start, function.size, function.signal_frame, {}, function.b_key, function.repeat_size};
  result.rows.reserve(function.rows.size());
  for (const FrameRow& row : function.rows) result.rows.push_back({row.pc_offset, rules.number_of(row.rules)});
  return result;
}

}  // namespace sframe_gen::cfi
