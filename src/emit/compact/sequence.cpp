#include "emit/compact/sequence.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace sframe_gen::emit::compact {

namespace {

/// Rows are made relative to their run in place: none is added, some go.
class SequenceMaker {
 public:
  SequenceMaker(RowStream& stream, std::uint32_t most_rows)
      : pieces_(stream.pieces()), most_rows_(std::min(most_rows, most_rows_without_cut)) {
    sequence_.rows = stream.release_rows();
    constexpr std::size_t cuts_per_piece = 4;  // more than files have that are large
    sequence_.cuts.reserve(pieces_.size() * cuts_per_piece);
  }

  Sequence make() {
    const auto row_count = static_cast<std::uint32_t>(sequence_.rows.size());
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      const std::uint32_t end = i + 1 < pieces_.size() ? pieces_[i + 1].first_row : row_count;
      add(pieces_[i], end);
    }
    sequence_.rows.resize(written_);
    return std::move(sequence_);
  }

 private:
  void add(const Piece& piece, std::uint32_t end) {
    const bool joins = joins_run(piece);
    if (!joins) begin_run(piece);
    Run& run = sequence_.runs.back();
    const auto base = static_cast<std::uint32_t>(piece.start - run.start);
    if (piece.has_signed_row) {
      run.b_key = piece.b_key;
      key_known_ = true;
    }
    begin_piece(base, sequence_.rows[piece.first_row].rule, joins);
    add_rows(base, piece.first_row + 1, end);
    run.size = base + piece.size;
  }

  bool joins_run(const Piece& piece) const {
    if (!piece.follows || sequence_.runs.empty()) return false;
    const Run& run = sequence_.runs.back();
    if (run.signal_frame != piece.signal_frame) return false;
    if (piece.has_signed_row && key_known_ && run.b_key != piece.b_key) return false;
    return piece.start + piece.size - run.start <= std::numeric_limits<std::uint32_t>::max();
  }

  void begin_run(const Piece& piece) {
    const auto first_cut = static_cast<std::uint32_t>(sequence_.cuts.size());
    sequence_.runs.push_back({piece.start, 0, first_cut, piece.signal_frame, false});
    key_known_ = false;
  }

  void begin_piece(std::uint32_t offset, RuleId rule, bool joins) {
    const bool repeats = joins && rule == last().rule;
    // Of several functions that say nothing new, only the last can have a descriptor begin there with profit: before
    // it, the row starts of what follows would be larger.
    if (repeats && sequence_.cuts.back().repeats && sequence_.cuts.back().row + 1 == written_) {
      sequence_.cuts.pop_back();
      --written_;
    }
    cut(sequence_.runs.back().size, repeats);
    write({offset, rule});
  }

  /// Those of a piece behind its first; each is read before its place is written.
  void add_rows(std::uint32_t base, std::uint32_t begin, std::uint32_t end) {
    Row* written = sequence_.rows.data() + written_;
    const Row* cut_at = sequence_.rows.data() + sequence_.cuts.back().row;
    Row before = written[-1];
    for (const Row* read = sequence_.rows.data() + begin; read != sequence_.rows.data() + end; ++read) {
      if (read->rule == before.rule) continue;
      const std::uint32_t distance = base + read->offset - before.offset;
      before = {base + read->offset, read->rule};
      if (distance >= stretch_before_cut || written - cut_at >= most_rows_) {
        written_ = static_cast<std::uint32_t>(written - sequence_.rows.data());
        cut(before.offset, false);
        cut_at = written;
      }
      *written++ = before;
    }
    written_ = static_cast<std::uint32_t>(written - sequence_.rows.data());
  }

  void cut(std::uint32_t code_end, bool repeats) { sequence_.cuts.push_back({written_, code_end, repeats}); }
  void write(const Row& row) { sequence_.rows[written_++] = row; }
  const Row& last() const { return sequence_.rows[written_ - 1]; }

  const std::vector<Piece>& pieces_;
  std::uint32_t most_rows_;
  Sequence sequence_;
  std::uint32_t written_ = 0;  ///< rows
  bool key_known_ = false;     ///< whether the run has a signed row
};

}  // namespace

std::vector<Stretch> stretches_of(const Sequence& sequence) {
  constexpr std::uint32_t longest = 1U << Stretch::longest_bits;
  std::vector<Stretch> stretches;
  for (std::size_t run = 0; run < sequence.runs.size(); ++run) {
    const std::uint32_t end = sequence.end_of_cuts(run);
    for (std::uint32_t begin = sequence.runs[run].first_cut; begin < end; begin += longest)
      stretches.push_back({begin, std::min(end, begin + std::min(longest, end - begin)), run});
  }
  return stretches;
}

Sequence make_sequence(RowStream& stream, std::uint32_t most_rows) {
  return SequenceMaker(stream, most_rows).make();
}

}  // namespace sframe_gen::emit::compact
