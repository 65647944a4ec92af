#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "emit/compact/rows.hpp"
#include "emit/dialect.hpp"
#include "support/workers.hpp"

/// The places where descriptors may begin and end:
///
///     run     functions that one descriptor could hold: only padding between them, one signing key, one kind of frame
///     cut     where a descriptor may begin: a function, or a row after many bytes or many rows; also the end of a run
///     block   the rows from one cut of a run to a later one: what a descriptor has
///
/// At a function's cut, its first row may repeat the rule before it: it is written only if a block begins there. A
/// block that occurs more than once can be stored once.
namespace sframe_gen::emit::compact {

/// A cut, its rows up to the next cut, and sums over the rows before it in the run that are written whether or not a
/// block begins at a cut before them. Sums are modulo 2^32: only differences are used.
struct Cut {
  const EncodedRow* rows = nullptr;  ///< null at the end of the run
  std::uint32_t offset = 0;          ///< of the cut: bytes from the start of the run
  std::uint32_t code_end = 0;        ///< where the code before the cut ends: the same
  std::uint32_t last_row = 0;        ///< of the last row before the cut: the same
  std::uint32_t rows_before = 0;     ///< number of rows
  std::uint32_t plain_bytes = 0;     ///< their tails in a default descriptor; a rule without one counts 0
  std::uint32_t flexible_bytes = 0;
  std::uint32_t only_flexible = 0;  ///< rows that take a flexible one
  std::uint8_t row_count = 0;
  bool repeats = false;             ///< the first row repeats the rule before it
  std::uint8_t repeated_plain = 0;  ///< if so, what that row would add to the sums
  std::uint8_t repeated_flexible = 0;
  std::uint8_t repeated_only_flexible = 0;
  /// How many cuts before this one a block may begin that ends here: not to have too many rows, and for default rows to
  /// write it with starts of two bytes, and of one byte.
  std::uint8_t reach = 0, wide_reach = 0, narrow_reach = 0;
};

/// Hashes of the rows from a cut to the next.
struct RowHashes {
  std::uint64_t first = 0;  ///< of all rows, for a block that begins at the cut
  std::uint64_t next = 0;   ///< of the rows that a block gains that ended at the cut; 0 at the end of the run
};

/// Returns a hash of rows that no other number of rows has: the number is its lowest byte.
constexpr std::uint64_t with_count(std::uint64_t hash, std::size_t rows) {
  return (hash & ~std::uint64_t{UINT8_MAX}) | rows;
}

struct Run {
  std::uint64_t start;  ///< virtual address
  std::uint32_t size;   ///< bytes
  bool signal_frame;
  bool b_key;
  std::span<const RowStream::Function> functions;
  std::vector<Cut> cuts;                       ///< the last one is the end of the run
  std::vector<RowHashes> hashes;               ///< by cut
  std::vector<std::uint32_t> repeated_blocks;  ///< by cut: the longest block from there on that occurs elsewhere too
};

/// How a block is written.
struct BlockShape {
  std::uint32_t rows;
  std::uint32_t bytes;  ///< without version 3's attribute
  sframe::FreAddressWidth width;
  sframe::FdeType type;
};

inline std::uint32_t rows_between(const Cut& begin, const Cut& end) {
  return end.rows_before - begin.rows_before + (begin.repeats ? 1 : 0);
}

/// Returns whether default rows can write the block.
inline bool is_plain(const Cut& begin, const Cut& end) {
  return end.only_flexible - begin.only_flexible + begin.repeated_only_flexible == 0;
}

/// Returns the largest row start. The row before `end` may be in front of `begin`, if the block has only a row that
/// repeats.
inline std::uint32_t last_start(const Cut& begin, const Cut& end) {
  return end.last_row > begin.offset ? end.last_row - begin.offset : 0;
}

/// Returns the shape of the block from one cut to a later one of the same run.
inline BlockShape shape_of(const Cut& begin, const Cut& end) {
  const bool plain = is_plain(begin, end);
  const std::uint32_t largest = last_start(begin, end), rows = rows_between(begin, end);
  const auto width = largest <= UINT8_MAX    ? sframe::FreAddressWidth::One
                     : largest <= UINT16_MAX ? sframe::FreAddressWidth::Two
                                             : sframe::FreAddressWidth::Four;
  const std::uint32_t tails = plain ? end.plain_bytes - begin.plain_bytes + begin.repeated_plain
                                    : end.flexible_bytes - begin.flexible_bytes + begin.repeated_flexible;
  return {rows, rows * bytes_of(width) + tails, width, plain ? sframe::FdeType::Default : sframe::FdeType::Flexible};
}

/// Returns the size of what version 3 has in front of the rows of a block.
inline std::uint32_t attribute_size(const Dialect& dialect) {
  return dialect.version->splits_descriptor ? sframe::fde_attribute::size : 0;
}

/// Calls `work(i)` for each run i, in several threads.
template <typename Work>
void for_each_run(std::size_t runs, const Work& work) {
  constexpr std::size_t runs_per_worker = 2;
  parallel_for(runs, workers_for(runs, runs_per_worker), [&](std::size_t i, std::size_t) { work(i); });
}

/// Returns the runs of a stream, which must outlive them. A long run is divided, so that several threads have work.
/// Where depends on the rows alone: the bytes are the same for any number of threads.
std::vector<Run> make_runs(const RowStream& stream, const Dialect& dialect);

/// A block that occurs more than once: equal rules at equal distances, and cuts at the same rows.
struct RepeatedBlock {
  std::uint32_t head = 0;    ///< the block without the rows of its last cut, which repeats too
  std::uint32_t cuts = 0;    ///< whose rows it has
  std::uint32_t places = 0;  ///< where it occurs
  std::uint32_t bytes = 0;   ///< of its rows, and of version 3's attribute in front of them
};

/// Blocks are numbered from 1 on. 0, which has no cuts, stands for a block that does not repeat.
inline constexpr std::uint32_t no_block = 0;

/// Finds all blocks of as many rows as a descriptor may have, or of one cut, that repeat. A block can repeat only if
/// its head does: so they are a forest, the blocks that begin at a cut are the way from Run::repeated_blocks up, and
/// heads have lower numbers. Time is linear in the number of places of what repeats.
/// Takes the hashes of the runs.
///
/// If a file is made to have many more repeated blocks than others, some are not found: memory stays within six blocks
/// for each cut.
///
/// Blocks count as equal if 64-bit hashes of their rows are. If others are made to have the same hash, they are priced
/// wrongly; rows are shared only if their bytes are equal.
std::vector<RepeatedBlock> find_repeated_blocks(std::span<Run> runs, const Dialect& dialect);

}  // namespace sframe_gen::emit::compact
