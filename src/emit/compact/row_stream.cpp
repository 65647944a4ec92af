#include "emit/compact/row_stream.hpp"

#include <cassert>
#include <utility>

#include "emit/fre_encoder.hpp"

namespace sframe_gen::emit::compact {

void RowStream::add(const sframe::Fde& fde) {
  assert(!fde.fres.empty());
  const unsigned start_bytes = bytes_of(fre_address_width(fde.size));
  ++default_size_.descriptors;
  default_size_.rows += fde.fres.size();
  default_size_.start_bytes += start_bytes * fde.fres.size();
  if (fde.pc_type == sframe::PcType::Mask) return keep(fde);

  assert(fde.fres.front().pc_offset == 0);
  Piece piece{fde.start, fde.size, static_cast<std::uint32_t>(rows_.size()), follows(fde.start), fde.signal_frame,
              fde.b_key, false};
  for (const sframe::Fre& fre : fde.fres) {
    const RuleId rule = rules_.id_of(fre.recovery);
    rows_.push_back({fre.pc_offset, rule});
    default_size_.tail_bytes += rules_.tail(rule, fde.type).size();
    piece.has_signed_row |= fre.recovery && fre.recovery->mangled_ra;
  }
  if (pieces_.empty() && gap_forbidden_) first_forbidden_ = true;
  gap_forbidden_ = false;
  pieces_.push_back(piece);
}

void RowStream::keep(const sframe::Fde& fde) {
  for (const sframe::Fre& fre : fde.fres)
    default_size_.tail_bytes += rules_.tail(rules_.id_of(fre.recovery), fde.type).size();
  kept_.push_back(fde);
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
