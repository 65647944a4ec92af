#pragma once

#include "cfi/expression.hpp"
#include "cfi/frame_row.hpp"
#include "cfi/instruction.hpp"

namespace sframe_gen::cfi {

/// What one instruction makes of rules.
class RuleChange {
 public:
  /// `cfa_is_expression`: def_cfa_offset and def_cfa_register have nothing to change.
  RuleChange(const TrackedRegisters& tracked, const Rules& rules, bool cfa_is_expression)
      : tracked_(tracked), rules_(rules), cfa_is_expression_(cfa_is_expression) {}

  /// One without an expression, of those that set or restore a rule. `initial`: what the CIE says; null inside the CIE.
  void apply(const Instruction& instruction, const Rules* initial);
  /// One with an expression. Throws MalformedInput.
  void apply_expression(const Instruction& instruction, const ExpressionBytes& expression);

  const Rules& rules() const { return rules_; }
  bool cfa_is_expression() const { return cfa_is_expression_; }

 private:
  void apply_cfa(const Instruction& instruction);
  void set(DwarfRegister number, const RegisterRule& rule);
  void restore(DwarfRegister number, const Rules& initial);

  const TrackedRegisters& tracked_;
  Rules rules_;
  bool cfa_is_expression_;
};

}  // namespace sframe_gen::cfi
