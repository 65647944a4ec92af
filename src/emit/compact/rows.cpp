#include "emit/compact/rows.hpp"

#include <cassert>

namespace sframe_gen::emit::compact {

DefaultSize& DefaultSize::operator+=(const DefaultSize& other) {
  descriptors += other.descriptors;
  rows += other.rows;
  start_bytes += other.start_bytes;
  tail_bytes += other.tail_bytes;
  return *this;
}

void RowStream::expect(std::size_t functions) {
  constexpr std::size_t rows_per_function = 16;   // more than large files have
  functions_.reserve(functions + functions / 8);  // some are added in parts
  rows_.front().reserve(functions * rows_per_function);
}

void RowStream::add(const FdeRows& fde) {
  assert(!fde.rows.empty());
  ++default_size_.descriptors;
  default_size_.rows += fde.rows.size();
  default_size_.start_bytes += bytes_of(fre_address_width(fde.size)) * fde.rows.size();
  for (const EncodedRow& row : fde.rows) default_size_.tail_bytes += encoded_rules_.tail(row.rule, fde.type).size();
  if (fde.pc_type == sframe::PcType::Mask) {
    kept_.push_back(fde);
    return forbid_gap();
  }

  assert(fde.rows.front().pc_offset == 0);
  std::vector<EncodedRow>& rows = rows_.front();
  Function function{fde.start, fde.size, static_cast<std::uint32_t>(rows.size()), 0, 0, false, fde.signal_frame,
                    fde.b_key, false};
  EncodedRuleId before = EncodedRules::none;
  for (const EncodedRow& row : fde.rows) {
    if (row.rule == before) continue;
    before = row.rule;
    rows.push_back(row);
    function.has_signed_row |= encoded_rules_[row.rule].is_signed;
  }
  function.rows = static_cast<std::uint32_t>(rows.size()) - function.first_row;
  function.follows = may_reach(fde.start);
  if (functions_.empty()) first_gap_is_forbidden_ = gap_is_forbidden_;
  functions_.push_back(function);
  gap_is_forbidden_ = false;
}

bool RowStream::may_reach(std::uint64_t start) const {
  if (functions_.empty() || gap_is_forbidden_ || !is_padding_) return false;
  return is_padding_(functions_.back().start + functions_.back().size, start);
}

void RowStream::append(RowStream&& other) {
  if (other.functions_.empty()) {
    gap_is_forbidden_ |= other.gap_is_forbidden_;
  } else {
    gap_is_forbidden_ |= other.first_gap_is_forbidden_;
    if (functions_.empty()) first_gap_is_forbidden_ = gap_is_forbidden_;
    other.functions_.front().follows = may_reach(other.functions_.front().start);
    for (Function function : other.functions_) {
      function.part += static_cast<std::uint32_t>(rows_.size());
      functions_.push_back(function);
    }
    for (std::vector<EncodedRow>& rows : other.rows_) rows_.push_back(std::move(rows));
    gap_is_forbidden_ = other.gap_is_forbidden_;
  }
  kept_.insert(kept_.end(), other.kept_.begin(), other.kept_.end());
  default_size_ += other.default_size_;
}

}  // namespace sframe_gen::emit::compact
