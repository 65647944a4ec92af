#include "emit/compact/row_stream.hpp"

#include <cassert>
#include <utility>

#include "emit/fre_encoder.hpp"

namespace sframe_gen::emit::compact {

void RowStream::expect(std::size_t functions) {
  constexpr std::size_t rows_per_function = 16;  // more than files have that are large
  pieces_.reserve(functions);
  rows_.reserve(functions * rows_per_function);
}

void RowStream::add(const sframe::Fde& fde) {
  NumberedFde numbered{fde.start, fde.size, fde.signal_frame, fde.b_key, fde.pc_type, fde.repeat_size, fde.type, {}};
  numbered.fres.reserve(fde.fres.size());
  for (const sframe::Fre& fre : fde.fres) numbered.fres.push_back({fre.pc_offset, rules_.id_of(fre.recovery)});
  add_numbered(numbered, [](RuleId rule) { return rule; });
}

void RowStream::add(const NumberedFde& fde, const RuleTable& rules) {
  if (&rules != source_ || rules.generation() != source_generation_) {
    source_ = &rules;
    source_generation_ = rules.generation();
    from_source_.clear();
  }
  from_source_.resize(rules.size(), unknown);
  add_numbered(fde, [&](RuleId rule) {
    RuleId& own = from_source_[rule];
    if (own == unknown) own = rules_.id_of(rules.recovery(rule));
    return own;
  });
}

/// `own_rule`: the number that a rule has here.
template <typename OwnRule>
void RowStream::add_numbered(const NumberedFde& fde, OwnRule&& own_rule) {
  assert(!fde.fres.empty());
  ++default_size_.descriptors;
  default_size_.rows += fde.fres.size();
  default_size_.start_bytes += bytes_of(fre_address_width(fde.size)) * fde.fres.size();
  const auto first_row = static_cast<std::uint32_t>(rows_.size());
  rows_.resize(rows_.size() + fde.fres.size());
  Row* row = rows_.data() + first_row;
  std::size_t tail_bytes = 0;
  bool is_signed = false;
  for (const NumberedFre& fre : fde.fres) {
    const RuleId rule = own_rule(fre.rule);
    *row++ = {fre.pc_offset, rule};
    tail_bytes += rules_.tail(rule, fde.type).size();
    const auto& recovery = rules_.recovery(rule);
    is_signed |= recovery && recovery->mangled_ra;
  }
  default_size_.tail_bytes += tail_bytes;
  if (fde.pc_type == sframe::PcType::Mask) return keep(fde, first_row);

  assert(fde.fres.front().pc_offset == 0);
  pieces_.push_back({fde.start, fde.size, first_row, follows(fde.start), fde.signal_frame, fde.b_key, is_signed});
  if (pieces_.size() == 1 && gap_forbidden_) first_forbidden_ = true;
  gap_forbidden_ = false;
  if (gaps_ != nullptr) gaps_->expect(fde.start + fde.size);
}

/// The rows of one that repeats are not of the sequence.
void RowStream::keep(const NumberedFde& fde, std::uint32_t first_row) {
  NumberedFde kept = fde;
  for (std::size_t i = 0; i < fde.fres.size(); ++i) kept.fres[i].rule = rows_[first_row + i].rule;
  kept_.push_back(spelled_out(kept, rules_));
  rows_.resize(first_row);
  gap_forbidden_ = true;
}

bool RowStream::follows(std::uint64_t start) const {
  if (pieces_.empty() || gap_forbidden_ || gaps_ == nullptr) return false;
  const Piece& before = pieces_.back();
  return gaps_->is_filled(before.start + before.size, start);
}

void RowStream::append(const RowStream& other) {
  std::vector<RuleId> rules;
  rules.reserve(other.rules_.size());
  for (RuleId rule = 0; rule < other.rules_.size(); ++rule) rules.push_back(rules_.id_of(other.rules_.recovery(rule)));

  if (other.first_forbidden_ || (other.pieces_.empty() && other.gap_forbidden_)) gap_forbidden_ = true;
  const auto shift = static_cast<std::uint32_t>(rows_.size());
  pieces_.reserve(pieces_.size() + other.pieces_.size());
  rows_.reserve(rows_.size() + other.rows_.size());
  for (Piece piece : other.pieces_) {
    if (piece.first_row == 0) piece.follows = follows(piece.start);
    piece.first_row += shift;
    pieces_.push_back(piece);
  }
  if (!other.pieces_.empty()) gap_forbidden_ = other.gap_forbidden_;
  for (const Row& row : other.rows_) rows_.push_back({row.offset, rules[row.rule]});
  kept_.insert(kept_.end(), other.kept_.begin(), other.kept_.end());
  default_size_.descriptors += other.default_size_.descriptors;
  default_size_.rows += other.default_size_.rows;
  default_size_.start_bytes += other.default_size_.start_bytes;
  default_size_.tail_bytes += other.default_size_.tail_bytes;
}

}  // namespace sframe_gen::emit::compact
