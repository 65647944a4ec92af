#include "rows/proof/function_ends.hpp"

#include <algorithm>

#include "rows/proof/conditions.hpp"
#include "rows/proof/paths.hpp"

namespace sframe_gen::rows::proof {

namespace {

/// Whether FP gets a value that is not loaded: what longjmp loads may be the caller's.
bool overwrites_frame_pointer(const Instruction& instruction) {
  const bool loads = instruction.operation == Operation::Pop || (instruction.operation == Operation::Move &&
                                                                 instruction.operands[1].kind == Operand::Kind::Memory);
  return (instruction.written >> rbp & 1U) != 0 && !loads;
}

/// Whether the caller's FP is anywhere, so that a return can have it.
bool keeps_frame_pointer(const State& state) {
  for (RegisterNumber reg = 0; reg < register_count; ++reg)
    if (is_callers_frame_pointer(state[reg])) return true;
  return std::ranges::any_of(state.slots(), [](const Slot& slot) { return is_callers_frame_pointer(slot.value); });
}

}  // namespace

void FunctionEnds::forget() {
  proof_.has_return = proof_.has_sure_return = proof_.has_own_end = false;
  proof_.has_indirect_tail = proof_.has_imported_tail = proof_.has_endless_end = false;
  proof_.effect.keeps_frame_pointer = true;
  tails_.clear();
}

void FunctionEnds::leave_with(const State& state) {
  proof_.has_own_end = proof_.has_own_end || !state.may_be_another;
  if (!conditions::frame_pointer_is_callers(state)) proof_.effect.keeps_frame_pointer = false;
}

void FunctionEnds::end_for_sure_with(const State& state) {
  if (!conditions::frame_pointer_is_callers(state)) loses_frame_pointer_ = true;
}

void FunctionEnds::return_with(const State& state) {
  leave_with(state);
  proof_.has_return = true;
  proof_.has_sure_return = proof_.has_sure_return || state.after_call == 0;
}

void FunctionEnds::jump_with(const State& state) {
  leave_with(state);
  if (!conditions::frame_pointer_is_callers(state)) proof_.jumps_without_frame_pointer = true;
}

void FunctionEnds::jump_to(std::uint64_t target) {
  program_.add_tail(target);
  if (program_.is_of_begin(proof_.start)) program_.add_of_begin(target);
  tails_.insert(target);
}

void FunctionEnds::jump_to(const Import& import) {
  if (import.address != 0 && program_.image().is_code(import.address, 1)) jump_to(import.address);
  if (!conditions::never_returns(import.name)) proof_.has_imported_tail = true;
}

void FunctionEnds::jump_anywhere(const State& state) {
  leave_with(state);
  proof_.has_indirect_tail = true;
}

void FunctionEnds::pass(const Instruction& instruction, const State& after) {
  if (after[rsp].is(Value::Kind::Cfa) && after[rsp].number > -8) pops_return_address_ = true;
  if (overwrites_frame_pointer(instruction) && !follows_a_call(after) && !keeps_frame_pointer(after))
    forgets_frame_pointer_ = true;
}

void FunctionEnds::conclude(bool is_undescribed) {
  proof_.tails.assign(tails_.begin(), tails_.end());
  CalleeEffect& effect = proof_.effect;
  effect.is_known = proof_.refusal == Refusal::None;
  // Its returns were perhaps not seen.
  if (!effect.is_known && forgets_frame_pointer_ && is_undescribed) effect.keeps_frame_pointer = false;
  switch (proof_.refusal) {
    case Refusal::None:
      conclude_proved();
      break;
    case Refusal::ReturnNotAtEntry:
    case Refusal::CalleePops:
      // A table that was read too far leads anywhere.
      effect.balances = !proof_.unbounded_tables.empty() && !pops_return_address_;
      break;
    default:
      effect.balances = !pops_return_address_;
      break;
  }
}

void FunctionEnds::conclude_proved() {
  CalleeEffect& effect = proof_.effect;
  const auto returns = [&](std::uint64_t tail) { return program_.effect_of(tail).returns; };
  effect.returns = proof_.has_return || proof_.has_indirect_tail || proof_.has_imported_tail ||
                   std::ranges::any_of(proof_.tails, returns);
  // Its only way out may be one that was taken for another function's.
  if (has_blamed_return_ && !proof_.has_return) effect.balances = false;
  effect.is_known = !proof_.has_indirect_tail;
  for (const std::uint64_t tail : proof_.tails) {
    if (!program_.effect_of(tail).keeps_frame_pointer) effect.keeps_frame_pointer = false;
    if (!program_.effect_of(tail).is_known) effect.is_known = false;
  }
}

}  // namespace sframe_gen::rows::proof
