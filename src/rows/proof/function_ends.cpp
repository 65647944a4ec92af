#include "rows/proof/function_ends.hpp"

#include <algorithm>
#include <vector>

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

namespace {

class EndsOfFunctions {
 public:
  EndsOfFunctions(std::span<FunctionProof> functions, const SeededMap<std::uint64_t, std::size_t>& numbers,
                  const std::function<Standing(std::uint64_t)>& standing_of)
      : functions_(functions), numbers_(numbers), is_proved_(functions.size()) {
    standing_.reserve(functions.size());
    for (const FunctionProof& function : functions) {
      standing_.push_back(standing_of(function.start));
      const bool breaks = function.refusal == Refusal::FramePointerLost || function.refusal == Refusal::OtherConvention;
      breaks_convention_ = breaks_convention_ || breaks;
    }
  }

  void refuse_unproved() {
    for (std::size_t i = 0; i < functions_.size(); ++i) {
      FunctionProof& function = functions_[i];
      // Parts that were split off jump back. A landing pad's may begin with a row like that of an entry: libgnarl-12.
      if (function.jumps_inside_another && !standing_[i].is_sure_start) refuse(function, Refusal::FlowsIntoFunction);
      if (standing_[i].is_entry_point && !standing_[i].is_described) refuse(function, Refusal::EntryPoint);
      if (function.refusal != Refusal::None) continue;
      // A label in an interpreter may end with a call that does not return, and what follows is a function.
      if (function.is_taken_only && !function.has_own_end) continue;
      for (const std::uint64_t tail : function.tails) jumps_to_[tail].push_back(i);
      if (function.has_return || (standing_[i].is_described && has_other_end(i))) add_proved(i);
    }
    follow_begin_of_program();
    spread();
    for (std::size_t i = 0; i < functions_.size(); ++i) {
      const bool is_no_return = functions_[i].tails.empty() && !functions_[i].has_imported_tail;
      if (!is_proved_[i]) refuse(functions_[i], is_no_return ? Refusal::NoReturn : Refusal::TailNotProved);
    }
  }

  void refuse_not_entered() {
    std::vector<bool> is_entered(functions_.size());
    std::vector<std::size_t> entered;
    const auto enter = [&](std::size_t i) {
      if (!is_entered[i]) entered.push_back(i);
      is_entered[i] = true;
    };
    for (std::size_t i = 0; i < functions_.size(); ++i)
      if (standing_[i].is_described || standing_[i].is_sure_start || functions_[i].is_taken_only) enter(i);
    while (!entered.empty()) {
      const FunctionProof& function = functions_[entered.back()];
      entered.pop_back();
      if (function.refusal != Refusal::None) continue;
      for (const std::uint64_t tail : function.tails)
        if (const auto found = numbers_.find(tail); found != numbers_.end()) enter(found->second);
    }
    for (std::size_t i = 0; i < functions_.size(); ++i)
      if (!is_entered[i]) refuse(functions_[i], Refusal::NotEntered);
  }

 private:
  static void refuse(FunctionProof& function, Refusal refusal) {
    if (function.refusal != Refusal::None) return;
    function.refusal = refusal;
    function.refused_at = function.start;
  }

  void add_proved(std::size_t i) {
    if (is_proved_[i]) return;
    is_proved_[i] = true;
    proved_.push_back(i);
  }

  bool has_other_end(std::size_t i) const {
    const FunctionProof& function = functions_[i];
    const bool imports_prove = conditions::may_be_proved_by_import(standing_[i].is_described, breaks_convention_);
    return function.has_indirect_tail || (function.has_imported_tail && imports_prove);
  }

  /// What a proved function calls has the entry that a call makes, whether it returns or not.
  bool is_proved_by_call(std::size_t i) const {
    return has_other_end(i) || (functions_[i].has_endless_end && !standing_[i].is_described && !breaks_convention_);
  }

  /// The functions that the entry point calls, and those that they go on in, have the entry that a call makes.
  void follow_begin_of_program() {
    if (breaks_convention_) return;
    std::vector<std::uint64_t> entered;
    for (std::size_t i = 0; i < functions_.size(); ++i) {
      const FunctionProof& function = functions_[i];
      if (standing_[i].is_called_first) entered.push_back(function.start);
      if (standing_[i].is_entry_point && !standing_[i].is_described)
        entered.insert(entered.end(), function.callees.begin(), function.callees.end());
    }
    std::vector<bool> is_entered(functions_.size());
    while (!entered.empty()) {
      const auto found = numbers_.find(entered.back());
      entered.pop_back();
      if (found == numbers_.end() || is_entered[found->second]) continue;
      is_entered[found->second] = true;
      const FunctionProof& function = functions_[found->second];
      if (function.refusal != Refusal::None) continue;
      if (is_proved_by_call(found->second)) add_proved(found->second);
      entered.insert(entered.end(), function.tails.begin(), function.tails.end());
    }
  }

  void spread() {
    while (!proved_.empty()) {
      const FunctionProof& function = functions_[proved_.back()];
      proved_.pop_back();
      if (const auto found = jumps_to_.find(function.start); found != jumps_to_.end())
        for (const std::size_t i : found->second) add_proved(i);
      for (const std::uint64_t callee : function.callees) {
        const auto found = numbers_.find(callee);
        if (found == numbers_.end() || functions_[found->second].refusal != Refusal::None) continue;
        if (is_proved_by_call(found->second)) add_proved(found->second);
      }
    }
  }

  std::span<FunctionProof> functions_;
  const SeededMap<std::uint64_t, std::size_t>& numbers_;
  std::vector<Standing> standing_;  ///< of each function
  std::vector<bool> is_proved_;
  std::vector<std::size_t> proved_;  ///< of which callers and callees do not know yet
  SeededMap<std::uint64_t, std::vector<std::size_t>> jumps_to_;
  bool breaks_convention_ = false;  ///< some function of the file does not keep to System V
};

}  // namespace

void refuse_unproved_ends(std::span<FunctionProof> functions, const SeededMap<std::uint64_t, std::size_t>& numbers,
                          const std::function<Standing(std::uint64_t)>& standing_of) {
  EndsOfFunctions ends(functions, numbers, standing_of);
  ends.refuse_unproved();
  ends.refuse_not_entered();
}

}  // namespace sframe_gen::rows::proof
