#include "emit/lower_amd64.hpp"

#include <limits>

namespace sframe_gen::emit {

namespace {

/// A rule, no rule needed (the register is unchanged, or at the ABI's fixed place), or the reason.
using LoweredRule = std::variant<std::optional<sframe::Rule>, Unrepresentable>;

bool fits_in_word(std::int64_t offset) {
  return offset >= std::numeric_limits<std::int32_t>::min() && offset <= std::numeric_limits<std::int32_t>::max();
}

/// rip stands in column 16 only by convention: a reader has no register of that number to add to.
bool is_machine_register(cfi::DwarfRegister number) {
  return number != cfi::amd64::return_address && static_cast<std::uint32_t>(number) < sframe::register_number_limit;
}

std::variant<sframe::Rule, Unrepresentable> lower_formula(const cfi::Formula& formula, Unrepresentable bad_base) {
  if (formula.base && !is_machine_register(*formula.base)) return bad_base;
  if (!fits_in_word(formula.offset)) return Unrepresentable::OffsetTooLarge;
  sframe::Rule rule{std::nullopt, static_cast<std::int32_t>(formula.offset), formula.dereferenced};
  if (formula.base) rule.base_register = static_cast<std::uint32_t>(*formula.base);
  return rule;
}

/// CFA + N has no control word of its own (it would be 0, which is padding), but where the CFA is itself a register
/// plus an offset the value is that register plus another.
std::optional<cfi::Formula> without_cfa_value(const cfi::Formula& formula, const cfi::Formula& cfa) {
  if (formula.base || formula.dereferenced) return formula;
  std::int64_t offset = 0;
  if (cfa.dereferenced || __builtin_add_overflow(formula.offset, cfa.offset, &offset)) return std::nullopt;
  return cfi::Formula{cfa.base, offset, false};
}

LoweredRule lower_saved(const cfi::Formula& formula, const cfi::Formula& cfa) {
  const auto based = without_cfa_value(formula, cfa);
  if (!based) return Unrepresentable::ValueIsCfaPlusOffset;
  const auto rule = lower_formula(*based, Unrepresentable::RuleBaseIsNoRegister);
  if (const auto* reason = std::get_if<Unrepresentable>(&rule)) return *reason;
  return std::get<sframe::Rule>(rule);
}

LoweredRule lower_return_address(const cfi::RegisterRule& rule, const cfi::Formula& cfa) {
  if (std::holds_alternative<cfi::OtherExpression>(rule)) return Unrepresentable::ReturnAddressIsExpression;
  const auto* formula = std::get_if<cfi::Formula>(&rule);
  if (formula == nullptr) return Unrepresentable::ReturnAddressUnspecified;
  const cfi::Formula fixed_place{std::nullopt, sframe::amd64_traits.fixed_ra_offset, true};
  if (*formula == fixed_place) return std::nullopt;
  return lower_saved(*formula, cfa);
}

LoweredRule lower_frame_pointer(const cfi::RegisterRule& rule, const cfi::Formula& cfa) {
  if (std::holds_alternative<cfi::Undefined>(rule)) return Unrepresentable::FramePointerUndefined;
  if (std::holds_alternative<cfi::OtherExpression>(rule)) return Unrepresentable::FramePointerIsExpression;
  const auto* formula = std::get_if<cfi::Formula>(&rule);
  const cfi::Formula itself{cfi::amd64::rbp, 0, false};
  if (formula == nullptr || *formula == itself) return std::nullopt;
  return lower_saved(*formula, cfa);
}

/// SFrame takes the caller's SP to be the CFA. An explicit rule is fine when it says the same, as in glibc's
/// __restore_rt, where both are *(rsp + 160).
bool caller_sp_is_cfa(const cfi::RegisterRule& rule, const cfi::Formula& cfa) {
  if (std::holds_alternative<cfi::Unspecified>(rule)) return true;
  if (std::holds_alternative<cfi::SameValue>(rule)) return cfa == cfi::Formula{cfi::amd64::rsp, 0, false};
  const auto* formula = std::get_if<cfi::Formula>(&rule);
  if (formula == nullptr) return false;
  return *formula == cfa || *formula == cfi::Formula{std::nullopt, 0, false};
}

Unrepresentable reason_of(cfi::Opaque opaque) {
  switch (opaque) {
    case cfi::Opaque::UnknownInstruction:
      return Unrepresentable::UnknownInstruction;
    case cfi::Opaque::CfaRuleWithoutRegister:
      return Unrepresentable::CfaRuleWithoutRegister;
    case cfi::Opaque::ForeignReturnColumn:
      return Unrepresentable::ForeignReturnColumn;
    case cfi::Opaque::ConflictingEntries:
      return Unrepresentable::ConflictingEntries;
  }
  return Unrepresentable::UnknownInstruction;
}

Lowered lower_with_cfa(const cfi::Formula& cfa, const cfi::Rules& rules) {
  const auto lowered_cfa = lower_formula(cfa, Unrepresentable::CfaBaseIsNoRegister);
  if (const auto* reason = std::get_if<Unrepresentable>(&lowered_cfa)) return *reason;
  if (!caller_sp_is_cfa(rules.stack_pointer, cfa)) return Unrepresentable::StackPointerRestoredElsewhere;
  const LoweredRule return_address = lower_return_address(rules.return_address, cfa);
  if (const auto* reason = std::get_if<Unrepresentable>(&return_address)) return *reason;
  const LoweredRule frame_pointer = lower_frame_pointer(rules.frame_pointer, cfa);
  if (const auto* reason = std::get_if<Unrepresentable>(&frame_pointer)) return *reason;
  return sframe::Recovery{std::get<sframe::Rule>(lowered_cfa), std::get<std::optional<sframe::Rule>>(return_address),
                          std::get<std::optional<sframe::Rule>>(frame_pointer), false};
}

/// The expression stands for two plain rows, so all other columns must be as at a function's entry.
Lowered lower_plt(const cfi::PltStub& stub, const cfi::Rules& rules) {
  const Lowered entry = lower_with_cfa({stub.base, stub.offset, false}, rules);
  const auto* recovery = std::get_if<sframe::Recovery>(&entry);
  if (recovery == nullptr) return entry;
  const bool plain = fits_default_descriptor(*recovery) && stub.base == cfi::amd64::rsp && !recovery->frame_pointer &&
                     fits_in_word(stub.offset + cfi::plt_push_size);
  return plain ? Lowered(stub) : Lowered(Unrepresentable::CfaIsExpression);
}

}  // namespace

Lowered lower_amd64(const cfi::Rules& rules) {
  if (const auto* opaque = std::get_if<cfi::Opaque>(&rules.cfa)) return reason_of(*opaque);
  // Nothing else matters where there is no caller.
  if (std::holds_alternative<cfi::Undefined>(rules.return_address)) return Outermost{};
  if (std::holds_alternative<cfi::Unspecified>(rules.cfa)) return Unrepresentable::CfaUnspecified;
  if (std::holds_alternative<cfi::OtherExpression>(rules.cfa)) return Unrepresentable::CfaIsExpression;
  if (const auto* stub = std::get_if<cfi::PltStub>(&rules.cfa)) return lower_plt(*stub, rules);
  return lower_with_cfa(std::get<cfi::Formula>(rules.cfa), rules);
}

bool fits_default_descriptor(const sframe::Recovery& recovery) {
  const sframe::Rule& cfa = recovery.cfa;
  const bool on_sp = cfa.base_register == sframe::amd64_traits.stack_pointer;
  const bool on_fp = cfa.base_register == sframe::amd64_traits.frame_pointer;
  const auto& fp = recovery.frame_pointer;
  const bool plain_fp = !fp || (!fp->base_register && fp->dereferenced);
  return (on_sp || on_fp) && !cfa.dereferenced && plain_fp && !recovery.return_address;
}

}  // namespace sframe_gen::emit
