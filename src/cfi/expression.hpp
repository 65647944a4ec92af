#pragma once

#include <cstdint>
#include <span>
#include <variant>

#include "cfi/rules.hpp"
#include "sframe_gen/error.hpp"
#include "support/endian.hpp"

namespace sframe_gen::cfi {

/// A DWARF expression of a call frame instruction.
struct ExpressionBytes {
  std::span<const std::byte> bytes;
  std::uint64_t section_offset;
  Endian endian;
  const Origin& origin;
};

/// What the expression leaves on top of the stack, told by meaning and not by spelling: any mix of breg/bregx,
/// constants, plus, minus, plus_uconst and a last deref is a Formula. Throws MalformedInput for operands that do not
/// fit; operations outside that set give OtherExpression.
std::variant<Formula, OtherExpression> evaluate_register_expression(const ExpressionBytes& expression);

/// As above for DW_CFA_def_cfa_expression: the CFA itself is not on the stack, and GNU ld's PLT expression counts.
CfaRule evaluate_cfa_expression(const ExpressionBytes& expression);

}  // namespace sframe_gen::cfi
