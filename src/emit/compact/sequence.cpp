#include "emit/compact/sequence.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "support/workers.hpp"

namespace sframe_gen::emit::compact {

namespace {

/// First each piece finds its place, by what is known of it as a whole; then several threads write what is there.
class SequenceMaker {
 public:
  explicit SequenceMaker(RowStream& stream) : parts_(stream.release_parts()) {}

  Sequence make() {
    std::size_t pieces = 0;
    for (const RowStream::Part& part : parts_) pieces += part.pieces.size();
    places_.reserve(pieces);
    for (const RowStream::Part& part : parts_)
      for (std::size_t i = 0; i < part.pieces.size(); ++i) place(part, i);
    sequence_.rows = Array<Row>(rows_);
    sequence_.cuts = Array<Cut>(cuts_);
    constexpr std::size_t rows_per_worker = 4096;
    parallel_for(slices_.size(), workers_for(rows_, rows_per_worker),
                 [this](std::size_t i, std::size_t) { write(slices_[i]); });
    return std::move(sequence_);
  }

 private:
  /// Pieces of a part that one thread writes, and what is before them.
  struct Slice {
    const RowStream::Part& part;
    std::size_t first;  ///< piece
    std::size_t place;  ///< of that
    std::size_t runs;
    std::uint64_t code_end;
    std::uint32_t rows, cuts;
  };
  static constexpr std::size_t pieces_per_slice = 512;

  enum class Place : std::uint8_t {
    New,      ///< begins a run
    Joins,    ///< goes on with one, with another rule
    Repeats,  ///< and with the same rule
    Silent,   ///< says nothing new, and neither does the one behind it
  };

  void place(const RowStream::Part& part, std::size_t index) {
    const Piece& piece = part.pieces[index];
    const bool joins = joins_run(piece);
    const bool repeats = joins && part.rule(piece.first_rule) == last_rule_;
    // Of several functions that say nothing new, only the last can have a descriptor begin there with profit: before
    // it, the row starts of what follows would be larger.
    if (repeats && last_only_repeats_) {
      places_.back() = Place::Silent;
      --cuts_;
      --rows_;
    }
    if (index % pieces_per_slice == 0)
      slices_.push_back({part, index, places_.size(), sequence_.runs.size(), code_end_, rows_, cuts_});
    places_.push_back(repeats ? Place::Repeats : joins ? Place::Joins : Place::New);
    if (!joins) {
      sequence_.runs.push_back({piece.start, 0, cuts_, piece.signal_frame, false});
      key_known_ = false;
    }
    Run& run = sequence_.runs.back();
    if (piece.has_signed_row) {
      run.b_key = piece.b_key;
      key_known_ = true;
    }
    code_end_ = piece.start + piece.size;
    run.size = static_cast<std::uint32_t>(code_end_ - run.start);
    rows_ += piece.rows;
    cuts_ += piece.cuts;
    last_rule_ = part.rule(piece.last_rule);
    last_only_repeats_ = repeats && piece.rows == 1;
  }

  bool joins_run(const Piece& piece) const {
    if (!piece.follows || sequence_.runs.empty()) return false;
    const Run& run = sequence_.runs.back();
    if (run.signal_frame != piece.signal_frame) return false;
    if (piece.has_signed_row && key_known_ && run.b_key != piece.b_key) return false;
    return piece.start + piece.size - run.start <= std::numeric_limits<std::uint32_t>::max();
  }

  /// Rows become relative to their run.
  void write(const Slice& slice) {
    const std::vector<Piece>& pieces = slice.part.pieces;
    const std::size_t end = std::min(slice.first + pieces_per_slice, pieces.size());
    std::size_t runs = slice.runs;
    std::uint64_t code_end = slice.code_end;
    Row* row = sequence_.rows.data() + slice.rows;
    Cut* cut = sequence_.cuts.data() + slice.cuts;
    const RuleId* const rules = slice.part.rules.empty() ? nullptr : slice.part.rules.data();
    const auto rule_of = [&](RuleId own) { return rules == nullptr ? own : rules[own]; };
    const auto row_number = [&] { return static_cast<std::uint32_t>(row - sequence_.rows.data()); };
    for (std::size_t i = slice.first; i < end; ++i) {
      const Piece& piece = pieces[i];
      const Place place = places_[slice.place + (i - slice.first)];
      if (place == Place::New) code_end = sequence_.runs[runs++].start;
      const std::uint64_t run_start = sequence_.runs[runs - 1].start;
      const auto base = static_cast<std::uint32_t>(piece.start - run_start);
      if (place != Place::Silent) {
        *cut++ = {row_number(), static_cast<std::uint32_t>(code_end - run_start), place == Place::Repeats};
        const Row* const own = slice.part.rows.data() + piece.first_row;
        *row++ = {base, rule_of(piece.first_rule)};
        // No branch: which row is a cut is what no processor can guess.
        Cut no_cut{};
        for (std::uint32_t j = 1; j < piece.rows; ++j) {
          const std::uint32_t is_cut = own[j].rule / cut_before_row;
          *std::array{&no_cut, cut}[is_cut] = {row_number(), base + own[j].offset, false};
          cut += is_cut;
          *row++ = {base + own[j].offset, rule_of(own[j].rule & ~cut_before_row)};
        }
      }
      code_end = piece.start + piece.size;
    }
  }

  std::vector<RowStream::Part> parts_;
  Sequence sequence_;
  std::vector<Slice> slices_;
  std::vector<Place> places_;  ///< by piece of all parts
  // Of the pieces so far.
  std::uint32_t rows_ = 0, cuts_ = 0;
  std::uint64_t code_end_ = 0;
  RuleId last_rule_ = 0;
  bool last_only_repeats_ = false;
  bool key_known_ = false;  ///< whether the run has a signed row
};

}  // namespace

std::vector<Stretch> stretches_of(const Sequence& sequence) {
  constexpr std::uint32_t worth_two = 1U << 11U;
  constexpr std::uint64_t longest_pair = std::uint64_t{2} << Stretch::longest_bits;
  std::vector<Stretch> stretches;
  for (std::size_t run = 0; run < sequence.runs.size(); ++run) {
    const std::uint32_t first = sequence.runs[run].first_cut, cuts = sequence.end_of_cuts(run) - first;
    // An even number, all of one length: of an odd one, the last would keep one of two threads waiting.
    const std::uint64_t count = cuts < worth_two ? 1 : (cuts + longest_pair - 1) / longest_pair * 2;
    const auto border = [&](std::uint64_t i) { return first + static_cast<std::uint32_t>(i * cuts / count); };
    for (std::uint64_t i = 0; i < count; ++i) stretches.push_back({border(i), border(i + 1), run});
  }
  return stretches;
}

Sequence make_sequence(RowStream& stream) {
  return SequenceMaker(stream).make();
}

}  // namespace sframe_gen::emit::compact
