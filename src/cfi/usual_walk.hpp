#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cfi/known_steps.hpp"
#include "cfi/numbered_frames.hpp"
#include "cfi/usual_instructions.hpp"
#include "support/endian.hpp"

namespace sframe_gen::cfi {

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
