#pragma once

#include <cstdint>
#include <vector>

#include "cfi/dwarf_constants.hpp"
#include "cfi/numbered_rules.hpp"
#include "support/byte_reader.hpp"
#include "support/hash.hpp"

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
  /// Bytes of an instruction that changes rules, and what they depend on.
  struct Step {
    std::uint64_t from = 0;
    std::uint64_t instruction = 0;  ///< 0: no such instruction
    friend bool operator==(const Step&, const Step&) = default;
  };

  KnownSteps() : known_(count) {}

  /// The step of the instruction at the reader, in an FDE of this CIE, if its bytes are few enough.
  static Step step_at(const ByteReader& reader, const RuleState& before, std::uint32_t cie_index) {
    const std::uint64_t bytes = rule_bytes(reader);
    if (bytes == 0) return {};
    return {static_cast<std::uint64_t>(before.rules) | std::uint64_t{cie_index} << 32U,
            bytes | (before.cfa_is_expression ? std::uint64_t{1} << 32U : 0)};
  }
  /// The instruction's size.
  static unsigned size_of(const Step& step) { return step.instruction >> 24U & 0xffU; }

  /// Null: it is not known.
  const RuleState* find(const Step& step) const {
    const Known& known = known_[slot_of(step)];
    return known.step == step ? &known.after : nullptr;
  }
  void put(const Step& step, const RuleState& after) { known_[slot_of(step)] = {step, after}; }
  void forget() { known_.assign(count, {}); }

 private:
  struct Known {
    Step step;
    RuleState after;
  };
  static constexpr std::size_t count = 1024;

  static std::size_t slot_of(const Step& step) {
    return mixed(step.from * 0x9e3779b97f4a7c15U + step.instruction) % count;
  }
  static std::uint64_t rule_bytes(const ByteReader& reader);

  std::vector<Known> known_;  ///< each where its hash says, if no other came there since
};

/// Up to three bytes of an instruction that changes rules and nothing else, and above them their count; 0 for others.
inline std::uint64_t KnownSteps::rule_bytes(const ByteReader& reader) {
  if (reader.left() < 3) return 0;
  const std::uint64_t first = reader.peek(0), second = reader.peek(1), third = reader.peek(2);
  const std::uint64_t one = first | 1U << 24U, two = one + (second << 8U | 1U << 24U),
                      three = two + (third << 16U | 1U << 24U);
  const bool ends_second = second < 0x80, ends_third = third < 0x80;
  switch (first & 0xc0U) {
    case static_cast<std::uint64_t>(CfaOpcode::Restore):
      return one;
    case static_cast<std::uint64_t>(CfaOpcode::Offset):
      return ends_second ? two : ends_third ? three : 0;
    case static_cast<std::uint64_t>(CfaOpcode::AdvanceLoc):
      return 0;
    default:
      break;
  }
  switch (static_cast<CfaOpcode>(first)) {
    case CfaOpcode::DefCfaOffset:
    case CfaOpcode::DefCfaRegister:
      return ends_second ? two : ends_third ? three : 0;
    case CfaOpcode::DefCfa:
    case CfaOpcode::Register:
      return ends_second && ends_third ? three : 0;
    default:
      return 0;
  }
}

}  // namespace sframe_gen::cfi
