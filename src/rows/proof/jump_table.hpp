#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "elf/image.hpp"
#include "rows/proof/value.hpp"
#include "support/range.hpp"

namespace sframe_gen::rows::proof {

/// Where a jump through a table may go.
struct JumpTargets {
  std::vector<std::uint64_t> targets;  ///< each once, ascending
  bool is_sound = false;               ///< false: an entry is impossible, or there are none
  std::uint64_t entries = 0;           ///< how many were read
};

/// Reads the entries of a table that a bound limits. `may_be`: whether an address may be a target. Entries that lead to
/// the function's end are passed over, as LLVM puts blocks there that cannot be reached.
JumpTargets read_bounded_table(const elf::Image& image, const Value& table, const Range& own,
                               const std::function<bool(std::uint64_t)>& may_be);

/// Reads a table without a bound by its contents: compilers leave out the comparison if the default cannot be reached.
/// It ends at the first entry that cannot be a target, and at `end`, the next address that an instruction takes.
JumpTargets read_unbounded_table(const elf::Image& image, const Value& table, const Range& own,
                                 const std::optional<std::uint64_t>& end,
                                 const std::function<bool(std::uint64_t)>& may_be);

}  // namespace sframe_gen::rows::proof
