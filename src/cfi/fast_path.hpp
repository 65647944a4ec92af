#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "cfi/frame_index.hpp"
#include "cfi/instruction.hpp"
#include "cfi/rules.hpp"
#include "support/range.hpp"

namespace sframe_gen::cfi {

/// What the rules are at a location.
struct RuleState {
  RuleId rule = 0;
  bool cfa_is_expression = false;  ///< def_cfa_offset and def_cfa_register then have nothing to change
};

/// Compilers nest one deep, people a few. Each takes eight times the byte that asks for it.
inline constexpr std::size_t most_remembered = 4096;

/// How far the instructions of a function have been executed, and the rows of some of its PCs.
struct RunState {
  std::uint64_t location = 0;  ///< bytes from the function's start
  RuleState state;
  std::vector<RuleState> remembered;
  Range pcs;  ///< bytes from the function's start: rows count from its begin, at most 4 GiB
  std::vector<Row> rows;

  /// Adds a row after the others, unless the last one has the same rule. Of the rows up to the begin of `pcs` only the
  /// last one counts.
  [[gnu::always_inline]] void add_row(std::uint64_t begin, RuleId rule) {
    if (begin <= pcs.begin) rows.clear();
    if (begin >= pcs.end || (!rows.empty() && rows.back().rule == rule)) return;
    rows.push_back({static_cast<std::uint32_t>(begin - std::min(begin, pcs.begin)), rule});
  }

  /// Closes the row at the current location. Several instructions at one location give one row.
  void advance_to(std::uint64_t there) {
    if (there != location) add_row(location, state.rule);
    location = there;
  }
};

/// Executes the instructions that nearly all functions consist of. A file's millions of instructions change rules in a
/// few hundred different ways: each is worked out when it comes first, and found by its bytes from then on.
/// Without it, rows take 3 (true) to 6.5 times (libLLVM) the instructions (docs/performance.md).
class FastPath {
 public:
  /// What `instruction` makes of rules whose CFA is no expression. It is complete.
  using Change = std::function<RuleId(std::span<const std::byte> instruction, RuleId before)>;

  explicit FastPath(const TrackedRegisters& tracked);

  /// Executes the instructions of an FDE of the CIE from `progress` on, as CfiInterpreter does. Returns the offset of
  /// the first that it does not know.
  std::size_t run(std::span<const std::byte> instructions, Endian endian, const Cie& cie, std::uint32_t cie_index,
                  const Change& change, RunState& progress);

 private:
  class Walk;

  struct Known {
    std::uint64_t key = 0;  ///< rules, CIE and instruction; 0: none, as the bytes of an instruction are not all zero
    RuleId after = 0;
  };
  static constexpr unsigned known_bits = 11, rules_bits = 20, cie_bits = 20;
  static constexpr std::size_t known_count = std::size_t{1} << known_bits;

  std::uint64_t followed_ = 0;  ///< bit by register: whether rows depend on its rule
  bool signs_return_addresses_;
  std::vector<Known> known_;  ///< each where its hash says, until another one comes there
};

}  // namespace sframe_gen::cfi
