#include "rows/proof/state_rules.hpp"

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

namespace {

/// Below SP, signal handlers overwrite everything but this (AMD64 psABI, section 3.2.2).
constexpr std::int64_t red_zone = 128;

/// The slot that holds the caller's FP, not more than `below` bytes below SP; only one of `these`, unless that is null.
/// Of several, the one that is nearest to the CFA: it is the first to be written.
std::optional<cfi::RegisterRule> saved_frame_pointer(const State& state, std::int64_t below,
                                                     const std::set<std::int64_t>* these = nullptr) {
  const Value& pointer = state[rsp];
  std::optional<cfi::RegisterRule> nearest;
  for (const Slot& slot : state.slots()) {  // by ascending offset
    const bool is_lost = pointer.is(Value::Kind::Cfa) && slot.offset < pointer.number - below;
    const bool is_asked_for = these == nullptr || these->contains(slot.offset);
    if (slot.base == 0 && !is_lost && is_asked_for && is_callers_frame_pointer(slot.value))
      nearest = cfi::Formula{std::nullopt, slot.offset, true};
  }
  return nearest;
}

/// Where the caller's FP is: in the register, as long as it is there. What is stored may be a variable that a pointer
/// changes. But a slot that a way out pops holds it as well on a path that is not followed, and changes the register.
std::optional<cfi::RegisterRule> frame_pointer_of(const State& state, bool is_call,
                                                  const std::set<std::int64_t>* popped) {
  if (is_callers_frame_pointer(state[rbp])) {
    if (popped == nullptr) return cfi::SameValue{};
    return saved_frame_pointer(state, 0, popped).value_or(cfi::SameValue{});
  }
  if (const auto saved = saved_frame_pointer(state, 0); saved || is_call) return saved;
  return saved_frame_pointer(state, red_zone);
}

/// By SP or FP; none: by neither.
std::optional<cfi::Formula> cfa_of(const State& state) {
  const Value& frame = state[rbp];
  // Above its own frame, a function has arguments: a variable may lead there.
  const bool may_be_frame = frame.is(Value::Kind::Cfa) && frame.number < 0;
  // In the usual frame FP gives it, as compilers say: that does not depend on what callees do with SP.
  const bool is_frame = frame == cfa_plus(-16) || (may_be_frame && state.trusts_callee);
  if (const Value& pointer = state[rsp]; !is_frame && pointer.is(Value::Kind::Cfa))
    return cfi::Formula{cfi::amd64::rsp, -pointer.number, false};
  if (may_be_frame) return cfi::Formula{cfi::amd64::rbp, -frame.number, false};
  return std::nullopt;
}

constexpr std::int64_t return_address_offset = -8;

bool has_return_address(const State& state, bool is_call) {
  // Once it is popped, a callee overwrites it, and far below SP a signal handler does.
  const std::int64_t below = is_call ? 0 : red_zone;
  const Value& pointer = state[rsp];
  if (pointer.is(Value::Kind::Cfa) && pointer.number > return_address_offset + below) return false;
  return state.load(cfa_plus(return_address_offset), 64) == return_address;
}

}  // namespace

std::optional<cfi::Rules> rules_of(const State& state, bool is_call, const std::set<std::int64_t>* popped) {
  const auto cfa = cfa_of(state);
  if (!cfa || !has_return_address(state, is_call)) return std::nullopt;
  const auto frame_pointer = frame_pointer_of(state, is_call, popped);
  if (!frame_pointer) return std::nullopt;
  return cfi::Rules{*cfa, {}, *frame_pointer, cfi::Formula{std::nullopt, return_address_offset, true}};
}

std::string_view why_no_rules(const State& state, bool is_call) {
  if (!cfa_of(state)) return "other-base";
  return has_return_address(state, is_call) ? "frame-pointer-unknown" : "return-address-moved";
}

}  // namespace sframe_gen::rows::proof
