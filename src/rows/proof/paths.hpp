#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "rows/proof/state.hpp"
#include "support/hash.hpp"
#include "support/range.hpp"

namespace sframe_gen::rows::proof {

/// The blocks of a function that paths have come to, and those that must be walked again.
///
/// Any call may be one that does not return, whatever its callee's code does: the compiler may know more of it. What
/// follows is then no part of the path. State::after_call names the last call on paths that cannot do without one.
/// Where such a path disagrees with another one, the call does not return, and the paths begin again without it.
///
/// An entry of a jump table may be none as well: where a `switch` has no default, LLVM fills its holes with the end of
/// the function, where the next one begins. table_entry_to() stands for the call then.
class Paths {
 public:
  struct Block {
    State state;
    std::uint64_t from = 0;  ///< the instruction from which a path came first; 0: the function's caller
    bool is_pending = false;
  };

  enum class Arrival : std::uint8_t { New, Known, Conflict, TooMany };

  /// None: where paths disagree, it is a conflict.
  enum class Blame : std::uint8_t { Calls, None };
  explicit Paths(Blame blame = Blame::Calls) : blame_(blame) {}

  /// A path comes to `pc` from the instruction at `from`. Conflict: paths meet that disagree, and no call is to blame.
  Arrival arrive(std::uint64_t pc, const State& state, std::uint64_t from, bool may_probe = false);
  /// The block at `pc`, which is there, is walked again.
  void schedule(std::uint64_t pc) { schedule(pc, blocks_.at(pc)); }
  /// Nothing is known any more where the block at `pc` begins.
  void lose(std::uint64_t pc);
  /// Takes the next block to walk, by ascending address. No value: all are done.
  std::optional<std::uint64_t> next();

  bool contains(std::uint64_t pc) const { return blocks_.contains(pc); }
  const Block& at(std::uint64_t pc) const { return blocks_.at(pc); }
  const std::map<std::uint64_t, Block>& blocks() const { return blocks_; }

  /// What a path does after a call cannot be. False: no call leads to this state.
  bool blame_call(const State& state);
  /// What State::after_call names where a jump table leads to `target`.
  static constexpr std::uint64_t table_entry_to(std::uint64_t target) { return target | table_mark; }
  static constexpr bool is_table_entry(std::uint64_t call) { return (call & table_mark) != 0; }
  bool is_endless(std::uint64_t call) const { return endless_calls_.contains(call); }
  void add_endless(std::uint64_t call) { endless_calls_.insert(call); }
  const std::set<std::uint64_t>& endless_calls() const { return endless_calls_; }
  /// A call is now known not to return: what its path has left in states is wrong.
  bool must_restart() const { return must_restart_; }
  /// Forgets all but which calls do not return.
  void restart();

 private:
  void schedule(std::uint64_t pc, Block& block);

  /// No code of a program is in the upper half of addresses.
  static constexpr std::uint64_t table_mark = std::uint64_t{1} << 63U;

  Blame blame_;
  std::map<std::uint64_t, Block> blocks_;
  std::set<std::uint64_t> pending_;
  std::set<std::uint64_t> endless_calls_;
  bool must_restart_ = false;
};

/// Whether a call leads here that may not return, and not only the entry of a table that may be none.
inline bool follows_a_call(const State& state) {
  return state.after_call != 0 && !Paths::is_table_entry(state.after_call);
}

/// Which code after calls leads out of its function as a caller expects it: to a return or a last jump as at the
/// entry, or to where a path without a call leads.
///
/// Only then is it sure to be the function's. A call may be one that does not return, and what follows it, code of
/// another function: with another depth, it would not find the way out. So may be what follows a part that was split
/// off, in the midst of others: GCC 16 leaves such parts empty, but for the registers that they save. Filled while each
/// block is walked once.
class WaysOut {
 public:
  void clear();
  /// The walk of a block leaves the function at `pc`.
  void add_end(std::uint64_t block, std::uint64_t pc) { found(block, pc); }
  /// It goes from `pc` to another block.
  void add_edge(std::uint64_t block, std::uint64_t pc, std::uint64_t to) { edges_.push_back({block, pc, to}); }
  /// After all blocks are walked. `own`: the function's own code.
  void spread(const Paths& paths, const Range& own);
  /// Whether a block's code leads out from `pc` on.
  bool lead_from(std::uint64_t block, std::uint64_t pc) const;

 private:
  struct Edge {
    std::uint64_t block, pc, to;
  };
  void found(std::uint64_t block, std::uint64_t pc);

  std::vector<Edge> edges_;
  SeededMap<std::uint64_t, std::uint64_t> last_;  ///< by block: the last instruction that leads out
  std::vector<std::uint64_t> new_;                ///< blocks that lead out, which those before do not know of yet
};

}  // namespace sframe_gen::rows::proof
