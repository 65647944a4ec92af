#include "emit/compact/row_stream.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "emit/fre_encoder.hpp"

namespace sframe_gen::emit::compact {

void RowStream::expect(std::size_t functions) {
  constexpr std::size_t rows_per_function = 16;  // more than files have that are large
  pieces_.reserve(functions);
  rows_.reserve(functions * rows_per_function);
}

void RowStream::add(const NumberedFde& fde) {
  assert(!fde.fres.empty());
  ++default_size_.descriptors;
  default_size_.rows += fde.fres.size();
  default_size_.start_bytes += bytes_of(fre_address_width(fde.size)) * fde.fres.size();
  if (fde.pc_type == sframe::PcType::Mask) return keep(fde);

  assert(fde.fres.front().pc_offset == 0);
  const std::uint32_t most_rows = std::min(dialect_.compact_rows, most_rows_without_cut);
  const auto first_row = static_cast<std::uint32_t>(rows_.size());
  rows_.resize(rows_.size() + fde.fres.size());
  Row* row = rows_.data() + first_row;
  Row before{0, RuleTable::no_rule};
  std::uint32_t cuts = 1, rows_since_cut = 0;
  std::size_t tail_bytes = 0;
  bool is_signed = false;
  const Known* known = known_.data();
  std::size_t known_rules = known_.size();
  for (const cfi::Row& fre : fde.fres) {
    const RuleId rule = rules_.number_of(fre.rule);
    if (rule >= known_rules) [[unlikely]] {
      know_all_rules();
      known = known_.data();
      known_rules = known_.size();
    }
    tail_bytes += fde.type == sframe::FdeType::Default ? known[rule].plain : known[rule].flexible;
    if (rule == before.rule) continue;
    is_signed |= known[rule].is_signed;
    // No branch: which row is a cut is what no processor can guess.
    const std::uint32_t cut = static_cast<std::uint32_t>(fre.pc_offset - before.offset >= stretch_before_cut) |
                              static_cast<std::uint32_t>(rows_since_cut >= most_rows);
    rows_since_cut = (rows_since_cut & (cut - 1)) + 1;
    cuts += cut;
    before = {fre.pc_offset, rule};
    *row++ = {fre.pc_offset, rule | cut * cut_before_row};
  }
  default_size_.tail_bytes += tail_bytes;
  const auto rows = static_cast<std::uint32_t>(row - rows_.data()) - first_row;
  rows_.resize(first_row + rows);
  pieces_.push_back({fde.start, fde.size, first_row, rows, cuts, rows_[first_row].rule, before.rule, follows(fde.start),
                     fde.signal_frame, fde.b_key, is_signed});
  if (is_empty_ && gap_forbidden_) first_forbidden_ = true;
  is_empty_ = false;
  gap_forbidden_ = false;
  end_ = fde.start + fde.size;
  if (gaps_ != nullptr) gaps_->expect(end_);
}

void RowStream::know_all_rules() {
  while (known_.size() < rules_.size()) {
    const auto rule = static_cast<RuleId>(known_.size());
    known_.push_back({static_cast<std::uint8_t>(rules_.tail(rule, sframe::FdeType::Default).size()),
                      static_cast<std::uint8_t>(rules_.tail(rule, sframe::FdeType::Flexible).size()),
                      rules_.is_signed(rule)});
  }
}

/// The rows of one that repeats are not of the sequence.
void RowStream::keep(const NumberedFde& fde) {
  NumberedFde kept = fde;
  for (cfi::Row& fre : kept.fres) {
    fre.rule = rules_.number_of(fre.rule);
    default_size_.tail_bytes += rules_.tail(fre.rule, fde.type).size();
  }
  kept_.push_back(std::move(kept));
  gap_forbidden_ = true;
}

bool RowStream::follows(std::uint64_t start) const {
  if (is_empty_ || gap_forbidden_ || gaps_ == nullptr) return false;
  return gaps_->is_filled(end_, start);
}

std::vector<RowStream::Part> RowStream::release_parts() {
  begin_part();
  return std::move(parts_);
}

void RowStream::begin_part() {
  if (!pieces_.empty()) parts_.push_back({std::move(pieces_), std::move(rows_), {}});
  pieces_.clear();
  rows_.clear();
}

void RowStream::append(RowStream&& other) {
  std::vector<RuleId> rules;
  rules.reserve(other.rules_.size());
  for (RuleId rule = 0; rule < other.rules_.size(); ++rule) rules.push_back(rules_.number_of(other.rules_.rule(rule)));

  if (other.first_forbidden_ || (other.is_empty_ && other.gap_forbidden_)) gap_forbidden_ = true;
  if (!other.is_empty_) {
    begin_part();
    const std::size_t first = parts_.size();
    for (Part& part : other.release_parts()) {
      if (part.rules.empty()) {
        part.rules = rules;
      } else {
        for (RuleId& rule : part.rules) rule = rules[rule];
      }
      parts_.push_back(std::move(part));
    }
    Piece& piece = parts_[first].pieces.front();
    piece.follows = follows(piece.start);
    if (is_empty_ && gap_forbidden_) first_forbidden_ = true;
    is_empty_ = false;
    end_ = other.end_;
    gap_forbidden_ = other.gap_forbidden_;
  }
  for (NumberedFde& fde : other.kept_) {
    for (cfi::Row& fre : fde.fres) fre.rule = rules[fre.rule];
    kept_.push_back(std::move(fde));
  }
  default_size_.descriptors += other.default_size_.descriptors;
  default_size_.rows += other.default_size_.rows;
  default_size_.start_bytes += other.default_size_.start_bytes;
  default_size_.tail_bytes += other.default_size_.tail_bytes;
}

}  // namespace sframe_gen::emit::compact
