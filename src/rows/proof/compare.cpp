#include "rows/proof/compare.hpp"

#include <algorithm>
#include <iterator>

namespace sframe_gen::rows::proof {

namespace {

/// From DWARF's numbers to those of instructions (AMD64 psABI, figure 3.36).
RegisterNumber register_of(cfi::DwarfRegister number) {
  static constexpr RegisterNumber numbers[] = {rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, 8, 9, 10, 11, 12, 13, 14, 15};
  const auto index = static_cast<std::uint32_t>(number);
  return index < std::size(numbers) ? numbers[index] : no_register;
}

/// What a formula gives that does not count from the CFA.
Value value_of(const cfi::Formula& formula, const State& state) {
  const RegisterNumber base = formula.base ? register_of(*formula.base) : no_register;
  if (base == no_register) return unknown;
  Value value = state[base];
  if (!is_on_stack(value)) return formula.offset == 0 && !formula.dereferenced ? value : unknown;
  value.number = cfi::wrapping_sum(value.number, formula.offset);
  return formula.dereferenced ? state.load(value, 64) : value;
}

Disagreement about(Disagreement::Column column, const Value& value) {
  Disagreement found;
  found.column = column;
  found.base = value;
  return found;
}

/// `rbp` may lead to a variable as well. A frame pointer leads to where the function has saved the caller's.
bool has_frame_pointer(const State& state) {
  return state[rbp].is(Value::Kind::Cfa) && is_callers_frame_pointer(state.load(state[rbp], 64));
}

std::optional<Disagreement> about_cfa(const cfi::CfaRule& rule, const State& state) {
  const auto* const formula = std::get_if<cfi::Formula>(&rule);
  if (formula == nullptr) return std::nullopt;
  // V8's JSEntry counts from FP after FP is popped. The caller's FP is where the caller says, and gives no CFA of ours.
  if (formula->base && register_of(*formula->base) == rbp && is_callers_frame_pointer(state[rbp]))
    return about(Disagreement::Column::Cfa, state[rbp]);
  const Value value = value_of(*formula, state);
  // SP that an `and` has moved may be right by chance; no row may count on it.
  if (!is_on_stack(value) || value == cfa_plus(0)) return std::nullopt;
  // With a frame pointer, a return does not prove that a callee has left SP alone: one may have removed its arguments.
  const bool counts_from_stack = formula->base && register_of(*formula->base) == rsp;
  if (counts_from_stack && state.trusts_callee && has_frame_pointer(state)) return std::nullopt;
  return about(Disagreement::Column::Cfa, value);
}

std::optional<Disagreement> about_return_address(const cfi::RegisterRule& rule, const State& state) {
  const auto* const formula = std::get_if<cfi::Formula>(&rule);
  if (formula == nullptr || formula->base || !formula->dereferenced) return std::nullopt;
  const Value value = state.load(cfa_plus(formula->offset), 64);
  if (value == return_address) return std::nullopt;
  return about(Disagreement::Column::ReturnAddress, value);
}

std::optional<Disagreement> about_frame_pointer(const cfi::RegisterRule& rule, const State& state) {
  const Value& now = state[rbp];
  if (std::holds_alternative<cfi::Unspecified>(rule) || std::holds_alternative<cfi::SameValue>(rule)) {
    if (now.is(Value::Kind::Unknown) || is_callers_frame_pointer(now)) return std::nullopt;
    return about(Disagreement::Column::FramePointer, now);
  }
  const auto* const formula = std::get_if<cfi::Formula>(&rule);
  if (formula == nullptr || !formula->dereferenced) return std::nullopt;
  if (formula->base) {
    // In GCC's frames with an aligned stack, CFI counts from FP after FP is popped: the slot is one of the caller's.
    const bool is_popped = register_of(*formula->base) == rbp && is_callers_frame_pointer(now);
    return is_popped ? std::optional(about(Disagreement::Column::FramePointer, now)) : std::nullopt;
  }
  const Value saved = state.load(cfa_plus(formula->offset), 64);
  if (is_callers_frame_pointer(saved)) return std::nullopt;
  return about(Disagreement::Column::FramePointer, saved);
}

}  // namespace

std::optional<Disagreement> disagreement(const cfi::Rules& rules, const State& state) {
  if (!std::holds_alternative<cfi::Formula>(rules.cfa) || std::holds_alternative<cfi::Undefined>(rules.return_address))
    return std::nullopt;
  if (auto found = about_cfa(rules.cfa, state)) return found;
  if (auto found = about_return_address(rules.return_address, state)) return found;
  return about_frame_pointer(rules.frame_pointer, state);
}

cfi::RuleId rule_at(const cfi::Function& function, std::uint64_t pc) {
  const auto offset = static_cast<std::uint32_t>(pc - function.start);
  const auto after = std::ranges::upper_bound(function.rows, offset, {}, &cfi::Row::pc_offset);
  return (after - 1)->rule;
}

}  // namespace sframe_gen::rows::proof
