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
  /// The bytes of an instruction that changes rules, its CIE, and the rules before it. 0: they are too much.
  using Step = std::uint64_t;

  KnownSteps() : known_(count) {}

  /// Of an instruction's first three bytes, of which `size` count, in an FDE of this CIE.
  static Step step_of(std::uint32_t first_bytes, std::uint32_t size, const RuleState& before, std::uint32_t cie_index) {
    const auto rules = static_cast<std::uint32_t>(before.rules);
    if (size == 0 || rules >= 1U << 20U || cie_index >= 1U << 16U) return 0;
    const std::uint32_t bytes = first_bytes & (0xffffffU >> (24U - 8 * size));
    return Step{bytes} | Step{size} << 24U | Step{before.cfa_is_expression} << 26U | Step{rules} << 27U |
           Step{cie_index} << 47U;
  }

  /// Null: it is not known.
  const RuleState* find(Step step) const {
    const Known& known = known_[slot_of(step)];
    return known.step == step && step != 0 ? &known.after : nullptr;
  }
  void put(Step step, const RuleState& after) {
    if (step != 0) known_[slot_of(step)] = {step, after};
  }
  void forget() { known_.assign(count, {}); }

 private:
  struct Known {
    Step step = 0;
    RuleState after;
  };
  static constexpr std::size_t count = 1024;

  /// Who makes steps meet on purpose has each of them worked out anew, and gains nothing else.
  static std::size_t slot_of(Step step) { return step * 0x9e3779b97f4a7c15U >> 54U; }
  static_assert(count == std::size_t{1} << (64U - 54U));

  std::vector<Known> known_;  ///< each where its hash says, if no other came there since
};

}  // namespace sframe_gen::cfi
