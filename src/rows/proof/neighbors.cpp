#include "rows/proof/neighbors.hpp"

#include <algorithm>
#include <array>

#include "rows/proof/conditions.hpp"

namespace sframe_gen::rows::proof {

Borders::Borders(Program& program, const Range& own)
    : program_(program), own_(own), own_cfi_(program.described(own.begin)) {}

bool Borders::may_be_reached_by_jump(std::uint64_t pc) const {
  if (own_.contains(pc)) return true;
  if (program_.is_start(pc)) return false;
  return program_.described(pc) != nullptr || (own_cfi_ == nullptr && program_.is_undescribed(pc));
}

bool Borders::begins_another(std::uint64_t pc, const State& state) const {
  if (pc == own_.begin || !program_.is_start(pc)) return false;
  return conditions::is_as_at_entry(state) || !program_.is_label_after_all(pc);
}

bool Borders::ends_at(std::uint64_t pc) const {
  if (program_.is_start(pc)) return true;
  if (own_cfi_ == nullptr) return !own_.contains(pc) && !program_.is_undescribed(pc);
  if (pc == own_.end) return true;
  if (own_.contains(pc)) return false;
  const cfi::Function* const described = program_.described(pc);
  return described == nullptr || described->start == pc;
}

bool Borders::may_begin_after_call(std::uint64_t pc, bool returns_twice) const {
  if (own_cfi_ != nullptr) return false;
  if (program_.marks().is_taken(pc)) return true;
  static constexpr std::array endbr64{std::byte{0xf3}, std::byte{0x0f}, std::byte{0x1e}, std::byte{0xfa}};
  return !returns_twice && std::ranges::equal(elf::loaded_bytes(program_.image(), pc, endbr64.size()), endbr64);
}

bool Borders::is_inside_another(std::uint64_t pc) const {
  if (own_.contains(pc)) return false;
  const cfi::Function* const described = program_.described(pc);
  return described != nullptr && program_.is_start(described->start);
}

bool Borders::is_split_part(std::uint64_t pc) const {
  return own_cfi_ == nullptr && !own_.contains(pc) && program_.described(pc) == nullptr;
}

std::optional<Import> Borders::import_at(std::uint64_t pc) {
  const auto [place, is_new] = imports_.try_emplace(pc);
  if (is_new) place->second = program_.imports().of_stub(pc);
  return place->second;
}

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
