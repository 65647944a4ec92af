#include "rows/proof/rows.hpp"

namespace sframe_gen::rows::proof {

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
