#pragma once

#include <cstdint>
#include <vector>

#include "cfi/numbered_rules.hpp"

namespace sframe_gen::cfi {

/// What the rules are at a location.
struct RuleState {
  RuleNumber rules{};
  bool cfa_is_expression = false;  ///< def_cfa_offset and def_cfa_register then have nothing to change
};

/// What instructions of few bytes make of rules. A file's millions of instructions take a few hundred different steps:
/// each is worked out when it comes first, and looked up by its bytes from then on.
class KnownSteps {
 public:
  /// The rules at a location of an FDE, and its CIE, in one number whose low 24 bits are free.
  using State = std::uint64_t;
  /// A state, and the bytes of an instruction that changes its rules.
  using Step = std::uint64_t;

  KnownSteps() : known_(count) {}

  /// Whether the two fit: of a file that people write, they do.
  static bool has_state(const RuleState& rules, std::uint32_t cie_index) {
    return static_cast<std::uint32_t>(rules.rules) < 1U << rules_bits && cie_index < 1U << cie_bits;
  }
  /// Of two that fit.
  static State state_of(const RuleState& rules, std::uint32_t cie_index) {
    return State{cie_index} << cie_shift | State{static_cast<std::uint32_t>(rules.rules)} << rules_shift |
           State{rules.cfa_is_expression} << expression_shift;
  }
  static RuleState rules_of(State state) { return {number_of(state), (state >> expression_shift & 1U) != 0}; }
  static RuleNumber number_of(State state) {
    return RuleNumber{static_cast<std::uint32_t>(state >> rules_shift) & ((1U << rules_bits) - 1)};
  }

  /// Of an instruction of up to three bytes, the first lowest, which is no nop.
  static Step step_of(State before, std::uint32_t instruction) { return before | instruction; }

  /// Null: it is not known.
  const State* find(Step step) const {
    const Known& known = known_[slot_of(step)];
    return known.step == step ? &known.after : nullptr;
  }
  void put(Step step, State after) { known_[slot_of(step)] = {step, after}; }
  void forget() { known_.assign(count, {}); }

 private:
  static constexpr unsigned expression_shift = 24, rules_shift = 25, rules_bits = 20;
  static constexpr unsigned cie_shift = rules_shift + rules_bits, cie_bits = 64 - cie_shift;

  struct Known {
    Step step = 0;  ///< 0: none, as it has the bytes of no instruction but a nop
    State after = 0;
  };
  static constexpr std::size_t count = 2048;

  /// Who makes steps meet on purpose has each of them worked out anew, and gains nothing else.
  static std::size_t slot_of(Step step) { return step * 0x9e3779b97f4a7c15U >> 53U; }
  static_assert(count == std::size_t{1} << (64U - 53U));

  std::vector<Known> known_;  ///< each where its hash says, if no other came there since
};

}  // namespace sframe_gen::cfi
