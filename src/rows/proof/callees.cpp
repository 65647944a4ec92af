#include "rows/proof/callees.hpp"

#include <optional>

#include "rows/proof/conditions.hpp"

namespace sframe_gen::rows::proof {

Callees::Callees(Program& program, Borders& borders, std::uint64_t start)
    : program_(program), borders_(borders), start_(start) {}

Callee Callees::of(const Instruction& call, std::uint64_t pc) {
  const Operand& operand = call.operands[0];
  std::optional<Import> import;
  std::uint64_t target = call.target;
  if (call.is_direct) {
    if (!program_.is_start(target)) import = borders_.import_at(target);
  } else if (operand.kind == Operand::Kind::Memory && operand.base == no_register && operand.index == no_register) {
    import = program_.imports().of_slot(static_cast<std::uint64_t>(operand.number));
  }
  if (import) {
    if (conditions::never_returns(import->name))
      return {.effect = {.returns = false}, .is_check = conditions::is_check(import->name)};
    target = import->address;
  } else if (!call.is_direct) {
    return {.effect = {.is_known = false}};
  }
  const bool twice = import && conditions::returns_twice(import->name);
  if (target == 0 || !program_.image().is_code(target, 1))
    return {.effect = {.is_known = false}, .returns_twice = twice};
  if (target != start_) direct_.insert(target);
  if (program_.described(pc) != program_.described(target)) program_.marks().mark_called_from_outside(target);
  const CalleeEffect effect = program_.effect_of_call(target);
  return {effect, program_.is_sure_to_return(target), twice, false};
}

}  // namespace sframe_gen::rows::proof
