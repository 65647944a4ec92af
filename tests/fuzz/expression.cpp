// Any bytes as a DWARF expression.

#include "cfi/instruction.hpp"
#include "target.hpp"

namespace sframe_gen::fuzz {

void expression(Bytes input) {
  Choices choices(input);
  const Endian endian = choices.byte() % 2 == 0 ? Endian::Little : Endian::Big;
  const InputOrigin origin{"fuzz", "expression"};
  const cfi::ExpressionBytes expression{choices.rest(), 0x100, endian, origin};
  succeeds([&] {
    const auto value = cfi::evaluate_register_expression(expression);
    require(value == cfi::evaluate_register_expression(expression), "an expression has one value");
  });
  succeeds([&] { cfi::evaluate_cfa_expression(expression); });
}

}  // namespace sframe_gen::fuzz
