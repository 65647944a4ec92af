#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cfi/dwarf.hpp"
#include "cfi/rules.hpp"
#include "support/endian.hpp"

namespace sframe_gen::cfi {

/// What instructions of up to three bytes do to rows of these registers, by their first byte: nearly all that
/// compilers write.
class UsualInstructions {
 public:
  enum class Form : std::uint8_t {
    Other,              ///< it takes more than a look
    Nothing,            ///< to these registers
    NothingWithNumber,  ///< and a LEB128 follows, which has one byte or two
    Advance,            ///< by the low bits
    AdvanceByte,        ///< by the byte that follows
    AdvanceWord,        ///< by the two that follow
    Step,               ///< from rules to rules
    StepWithNumber,     ///< of one byte or two
    StepWithNumbers,    ///< two, of one byte each
    Remember,
    Restore
  };

  explicit UsualInstructions(const TrackedRegisters& tracked);

  Form operator[](std::uint32_t first_bytes) const { return forms_[first_bytes & 0xffU]; }

  /// Up to three bytes, the first lowest. What is missing at the end looks like a number that goes on.
  static std::uint32_t first_bytes_of(std::span<const std::byte> instructions) {
    if (instructions.size() >= sizeof(std::uint32_t))
      return load<std::uint32_t>(instructions, Endian::Little) & 0xffffffU;
    std::uint32_t bytes = 0x808080;
    for (std::size_t i = 0; i < instructions.size() && i < 3; ++i) {
      bytes &= ~(0xffU << 8 * i);
      bytes |= std::to_integer<std::uint32_t>(instructions[i]) << 8 * i;
    }
    return bytes;
  }

  static bool second_goes_on(std::uint32_t first_bytes) { return (first_bytes & 0x8000U) != 0; }
  static bool third_goes_on(std::uint32_t first_bytes) { return (first_bytes & 0x800000U) != 0; }
  static std::uint32_t one_of(std::uint32_t first_bytes) { return first_bytes & 0xffU; }
  static std::uint32_t two_of(std::uint32_t first_bytes) { return first_bytes & 0xffffU; }

 private:
  void put(CfaOpcode opcode, Form form) { forms_[static_cast<std::uint8_t>(opcode)] = form; }

  std::array<Form, 256> forms_ = {};
};

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

/// Compilers nest one deep, people a few. Each takes eight times the byte that asks for it.
inline constexpr std::size_t most_remembered = 4096;

/// How far an FDE's instructions have been followed.
struct UsualWalk {
  std::span<const std::byte> instructions;  ///< what is left of them
  Endian endian;
  std::uint64_t code_alignment;  ///< of its CIE
  std::uint32_t cie_index;
  std::uint64_t location;  ///< bytes from the function's start
  RuleState state;
};

/// Follows what compilers write by the million, up to the first instruction that takes more than a look, whose place it
/// returns: bytes from the start of `walk.instructions`.
std::size_t follow_usual(UsualWalk& walk, const UsualInstructions& usual, const KnownSteps& steps,
                         std::vector<RuleState>& remembered, std::vector<NumberedRow>& rows);

/// The step that the first of `instructions` takes, if it is one that can be known. 0: it is not.
KnownSteps::Step usual_step(std::span<const std::byte> instructions, const UsualInstructions& usual,
                            const RuleState& before, std::uint32_t cie_index);

}  // namespace sframe_gen::cfi
