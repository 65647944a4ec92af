#pragma once

#include <cstdint>

#include "rows/proof/function_proof.hpp"
#include "rows/proof/instruction.hpp"
#include "rows/proof/state.hpp"

/// What an instruction makes of a state (Intel SDM, volume 2). Jumps and returns change nothing of it.
namespace sframe_gen::rows::proof {

/// Where a memory operand is; Unknown if it cannot be known.
Value address_of(const State& state, const Operand& memory);

/// Applies an instruction that goes on to the next one: no call, jump or return. Returns why nothing is known after it.
Refusal apply(const Instruction& instruction, std::uint64_t pc, State& state);

/// Applies a call that comes back, as System V has it (AMD64 psABI, section 3.2.1), but for what is known of the
/// callee.
void apply_call(const CalleeEffect& callee, std::uint64_t pc, State& state);

/// What is known on one way out of a conditional jump, from the comparison before it.
void apply_condition(Condition condition, bool is_taken, State& state);

/// The value that an indirect jump or call goes to.
Value target_of(const Operand& operand, const State& state);

}  // namespace sframe_gen::rows::proof
