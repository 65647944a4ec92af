#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "elf/image.hpp"
#include "rows/proof/listing.hpp"
#include "rows/proof/neighbors.hpp"
#include "rows/proof/program.hpp"
#include "rows/proof/state.hpp"
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

/// Reads the jump tables of one function: by a bound, or else by their contents.
class TableReader {
 public:
  /// All must outlive it. `own`: the function's code.
  TableReader(Program& program, const Borders& borders, Listing& listing, const Range& own);

  /// Takes so many steps. False: too few are left.
  using Spend = std::function<bool(std::uint64_t steps)>;
  /// Where a jump with this state may go. `spend` is called for instructions that are decoded on the way.
  JumpTargets read(const Value& table, const State& state, const Spend& spend);

  /// Addresses of the tables that were read by their contents.
  const std::set<std::uint64_t>& unbounded() const { return unbounded_; }

 private:
  /// Whether an entry may lead to `target`, without being a jump to another function.
  bool may_lead_to(std::uint64_t target);
  bool may_lead_with(const State& state, std::uint64_t target);

  Program& program_;
  const Borders& borders_;
  Listing& listing_;
  Range own_;
  std::set<std::uint64_t> unbounded_;
};

}  // namespace sframe_gen::rows::proof
