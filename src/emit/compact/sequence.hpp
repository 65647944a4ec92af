#pragma once

#include <cstdint>
#include <vector>

#include "emit/compact/array.hpp"
#include "emit/compact/row_stream.hpp"

/// The rows of a whole file as one sequence, which descriptors will cut into pieces anew:
///
///     run     functions that one descriptor could hold: only padding between them, one signing key, one kind of frame
///     cut     where a descriptor may begin: a function, or what comes after a stretch without a row
///     row     a rule, and from where on it holds
///
/// At a cut a row may repeat the rule before it: it is written only if a descriptor begins there.
namespace sframe_gen::emit::compact {

struct Cut {
  std::uint32_t row;       ///< the first one behind it
  std::uint32_t code_end;  ///< where the code in front of it ends: bytes from the start of the run
  bool repeats;            ///< whether that row says what the one before it says
};

struct Run {
  std::uint64_t start;      ///< virtual address
  std::uint32_t size;       ///< bytes
  std::uint32_t first_cut;  ///< it has those up to the next run's
  bool signal_frame;
  bool b_key;
};

struct Sequence {
  std::vector<Run> runs;
  Array<Cut> cuts;
  Array<Row> rows;

  std::uint32_t end_of_cuts(std::size_t run) const {
    return run + 1 < runs.size() ? runs[run + 1].first_cut : static_cast<std::uint32_t>(cuts.size());
  }
  std::uint32_t end_of_rows(std::size_t cut) const {
    return cut + 1 < cuts.size() ? cuts[cut + 1].row : static_cast<std::uint32_t>(rows.size());
  }
  /// Bytes from the start of the run.
  std::uint32_t offset_of(std::size_t cut) const { return rows[cuts[cut].row].offset; }
};

/// A run, or a part of a long one: a descriptor begins at its first cut, and what is known of one stretch follows from
/// nothing outside it, so that several threads have work.
struct Stretch {
  std::uint32_t begin, end;  ///< cuts
  std::size_t run;
  static constexpr unsigned longest_bits = 13;
};
/// Where long runs are divided depends on nothing but the run, so that bytes are the same for any number of threads.
std::vector<Stretch> stretches_of(const Sequence& sequence);

/// Takes the stream's rows. Linear in them.
Sequence make_sequence(RowStream& stream);

}  // namespace sframe_gen::emit::compact
