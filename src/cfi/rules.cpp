#include "cfi/rules.hpp"

#include <stdexcept>
#include <string>

namespace sframe_gen::cfi {

const TrackedRegisters& tracked_registers(sframe::Abi abi) {
  switch (abi) {
    case sframe::Abi::Aarch64Big:
    case sframe::Abi::Aarch64Little:
      return aarch64::tracked;
    case sframe::Abi::S390x:
      return s390x::tracked;
    case sframe::Abi::Amd64:
      break;
  }
  return amd64::tracked;
}

namespace {

/// Counted from a register alone. Without a value where the CFA is in memory and so has none to count from.
std::optional<Formula> without_cfa(const Formula& formula, const Formula& cfa) {
  if (formula.base) return formula;
  if (!cfa.dereferenced) return Formula{cfa.base, wrapping_sum(cfa.offset, formula.offset), formula.dereferenced};
  const bool is_cfa_itself = !formula.dereferenced && formula.offset == 0;
  return is_cfa_itself ? std::optional(cfa) : std::nullopt;
}

Formula normal_form(const Formula& formula, const Formula& cfa) {
  if (!formula.dereferenced) return without_cfa(formula, cfa).value_or(formula);
  if (!formula.base || formula.base != cfa.base || cfa.dereferenced) return formula;
  return {std::nullopt, wrapping_difference(formula.offset, cfa.offset), true};
}

/// Calls `change` with each rule that is a formula.
template <typename Change>
void for_each_formula(Rules& rules, Change change) {
  for (RegisterRule* rule : {&rules.stack_pointer, &rules.frame_pointer, &rules.return_address}) {
    if (auto* formula = std::get_if<Formula>(rule)) change(*formula);
  }
}

}  // namespace

Rules normal_form(const Rules& rules) {
  Rules result = rules;
  const auto* cfa = std::get_if<Formula>(&rules.cfa);
  if (cfa == nullptr) return result;
  for_each_formula(result, [&](Formula& formula) { formula = normal_form(formula, *cfa); });
  return result;
}

std::optional<Rules> counted_from_stack_pointer(const Rules& rules, const Formula& stack_pointer, std::int64_t bias) {
  const auto* cfa = std::get_if<Formula>(&rules.cfa);
  if (cfa == nullptr) return std::nullopt;
  const auto caller = without_cfa(stack_pointer, *cfa);
  if (!caller || (caller->dereferenced && bias != 0)) return std::nullopt;
  Rules result = rules;
  result.stack_pointer = Unspecified{};
  result.cfa = Formula{caller->base, wrapping_difference(caller->offset, bias), caller->dereferenced};
  bool counted = true;
  for_each_formula(result, [&](Formula& formula) {
    const auto alone = without_cfa(formula, *cfa);
    counted = counted && alone;
    if (alone) formula = *alone;
  });
  return counted ? std::optional(normal_form(result)) : std::nullopt;
}

RuleId RuleTable::intern(const Rules& rules) {
  const std::uint64_t hash = hash_of(rules);
  const std::lock_guard lock(mutex_);
  const auto known = numbers_.find(hash, [&](RuleId rule) { return rules_[rule] == rules; });
  if (known) return *known;
  if (rules_.size() == most_rules)
    throw std::length_error("has more than " + std::to_string(most_rules) + " different unwind rules");
  // Whatever throws is before what changes both.
  rules_.make_room();
  const RuleId rule = numbers_.add(hash);
  rules_.push_back(rules);
  return rule;
}

}  // namespace sframe_gen::cfi
