#pragma once

#include <cstdint>
#include <functional>
#include <set>

#include "rows/proof/borders.hpp"
#include "rows/proof/jump_table.hpp"
#include "rows/proof/listing.hpp"
#include "rows/proof/program.hpp"
#include "rows/proof/state.hpp"

namespace sframe_gen::rows::proof {

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
