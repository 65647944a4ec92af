#pragma once

#include <algorithm>
#include <cstdint>

#include "sframe_gen/section.hpp"
#include "sframe_gen/visibility.h"

SFRAME_GEN_BEGIN_CXX

/// From a PC to its row, as stack tracers look it up.
namespace sframe_gen::sframe {

/// Returns the function that contains `pc`, or null. A binary search if the section is flagged as sorted, else a scan.
const Fde* find_fde(const Section& section, std::uint64_t pc);

/// Whether the function has no caller at any PC: a default FDE of version 3 without rows (section 1.2 of the
/// format; GNU as writes one for a function that it cannot describe).
bool is_outermost_throughout(const Fde& fde, Version version);

/// Returns the row for the instruction `pc_offset` bytes into the function, or null: after the end, before the first
/// row, or if there are no rows.
const Fre* find_fre(const Fde& fde, std::uint64_t pc_offset);

/// Whether the starts of the function's rows are bit masks (CTF Frame and SFrame version 1).
bool has_bit_mask_fres(const Fde& fde);

/// Bytes after which the rows start over: the repeated block, or the whole function.
std::uint64_t block_size(const Fde& fde);

/// As for_each_interval, where row starts are bit masks.
template <typename Callback>
void for_each_masked_interval(const Fde& fde, Callback&& callback) {
  std::uint64_t begin = 0;
  const Fre* fre = find_fre(fde, 0);
  for (std::uint64_t pc_offset = 1; pc_offset <= fde.size; ++pc_offset) {
    const Fre* const next = find_fre(fde, pc_offset);  // null at the end
    if (next == fre) continue;
    if (fre != nullptr) callback(begin, pc_offset, *fre);
    begin = pc_offset;
    fre = next;
  }
}

/// Calls `callback(begin_offset, end_offset, fre)` for each range of the function that one row covers, ascending and
/// never empty. Repeated blocks are written out, the last as far as the function goes:
///
///     MASK, repeat size 16, size 40, rows 0 and 11    →    [0,11) [11,16) [16,27) [27,32) [32,40)
template <typename Callback>
void for_each_interval(const Fde& fde, Callback&& callback) {
  if (fde.fres.empty()) return;
  if (has_bit_mask_fres(fde)) return for_each_masked_interval(fde, callback);
  const std::uint64_t block = block_size(fde);
  for (std::uint64_t block_begin = 0; block_begin < fde.size; block_begin += block) {
    const std::uint64_t block_end = std::min<std::uint64_t>(block_begin + block, fde.size);
    for (std::size_t i = 0; i < fde.fres.size(); ++i) {
      const Fre& fre = fde.fres[i];
      const std::uint64_t begin = block_begin + fre.pc_offset;
      if (begin >= block_end) break;
      const bool last = i + 1 == fde.fres.size();
      const std::uint64_t end = last ? block_end : std::min(block_begin + fde.fres[i + 1].pc_offset, block_end);
      callback(begin, end, fre);
    }
  }
}

}  // namespace sframe_gen::sframe

SFRAME_GEN_END_CXX
