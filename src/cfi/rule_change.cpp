#include "cfi/rule_change.hpp"

namespace sframe_gen::cfi {

void RuleChange::apply(const Instruction& instruction, const Rules* initial) {
  switch (instruction.opcode) {
    case CfaOpcode::Offset:
    case CfaOpcode::OffsetExtended:
    case CfaOpcode::OffsetExtendedSf:
    case CfaOpcode::GnuNegativeOffsetExtended:
      return set(instruction.target, Formula{std::nullopt, instruction.offset, true});
    case CfaOpcode::ValOffset:
    case CfaOpcode::ValOffsetSf:
      return set(instruction.target, Formula{std::nullopt, instruction.offset, false});
    case CfaOpcode::Register:
      return set(instruction.target, Formula{instruction.source, 0, false});
    case CfaOpcode::Undefined:
      return set(instruction.target, Undefined{});
    case CfaOpcode::SameValue:
      return set(instruction.target, SameValue{});
    case CfaOpcode::Restore:
    case CfaOpcode::RestoreExtended:
      // In a CIE it is one that costs nothing: the interpreter has stopped at any other.
      if (initial != nullptr) restore(instruction.target, *initial);
      return;
    case CfaOpcode::AArch64NegateRaState:
      // Toggles a known state only: what an unknown one becomes is unknown too.
      if (rules_.signing == Signing::Unknown) return;
      rules_.signing = rules_.signing == Signing::Plain ? Signing::Signed : Signing::Plain;
      return;
    case CfaOpcode::AArch64NegateRaStateWithPc:
      rules_.signing = Signing::Unknown;
      return;
    default:
      return apply_cfa(instruction);
  }
}

void RuleChange::apply_expression(const Instruction& instruction, const ExpressionBytes& expression) {
  if (instruction.opcode == CfaOpcode::DefCfaExpression) {
    rules_.cfa = evaluate_cfa_expression(expression);
    cfa_is_expression_ = true;
    return;
  }
  if (instruction.target == tracked_.signing_state) return set(instruction.target, OtherExpression{});
  const auto value = evaluate_register_expression(expression);
  const auto* formula = std::get_if<Formula>(&value);
  const bool saved_there = instruction.opcode == CfaOpcode::Expression;
  if (formula == nullptr || (saved_there && formula->dereferenced)) return set(instruction.target, OtherExpression{});
  set(instruction.target, Formula{formula->base, formula->offset, formula->dereferenced || saved_there});
}

void RuleChange::apply_cfa(const Instruction& instruction) {
  if (instruction.opcode == CfaOpcode::DefCfa || instruction.opcode == CfaOpcode::DefCfaSf) {
    rules_.cfa = Formula{instruction.target, instruction.offset, false};
    cfa_is_expression_ = false;
    return;
  }
  // Both remaining opcodes are valid only while the rule is a register and an offset (DWARF 5, section 6.4.2.2).
  auto* formula = std::get_if<Formula>(&rules_.cfa);
  if (formula == nullptr || cfa_is_expression_) {
    rules_.cfa = UnknownReason::CfaRuleWithoutRegister;
  } else if (instruction.opcode == CfaOpcode::DefCfaRegister) {
    formula->base = instruction.target;
  } else {
    formula->offset = instruction.offset;
  }
}

void RuleChange::set(DwarfRegister number, const RegisterRule& rule) {
  // Compilers toggle the state; a rule of any other kind for it has not been seen.
  if (number == tracked_.signing_state) rules_.signing = Signing::Unknown;
  if (number == tracked_.frame_pointer) rules_.frame_pointer = rule;
  if (number == tracked_.return_address) rules_.return_address = rule;
  if (number == tracked_.stack_pointer) rules_.stack_pointer = rule;
}

void RuleChange::restore(DwarfRegister number, const Rules& initial) {
  if (number == tracked_.signing_state) rules_.signing = initial.signing;
  if (number == tracked_.frame_pointer) rules_.frame_pointer = initial.frame_pointer;
  if (number == tracked_.return_address) rules_.return_address = initial.return_address;
  if (number == tracked_.stack_pointer) rules_.stack_pointer = initial.stack_pointer;
}

}  // namespace sframe_gen::cfi
