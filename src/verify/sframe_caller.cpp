#include "verify/caller.hpp"
#include "verify/rule_text.hpp"

namespace sframe_gen::verify {

namespace {

/// Base + offset, and what is stored there if the rule says so (SFrame V3, section 3.2, "Recovery Rules").
std::uint64_t apply(const sframe::Rule& rule, std::uint64_t cfa, const Machine& machine) {
  const std::uint64_t base = rule.base_register ? machine.register_value(*rule.base_register) : cfa;
  const std::uint64_t place = base + static_cast<std::uint64_t>(std::int64_t{rule.offset});
  return rule.dereferenced ? machine.read_memory(place) : place;
}

std::string text_of(const sframe::Rule& rule) {
  return place_text(rule.base_register ? register_name(*rule.base_register) : "CFA", rule.offset, rule.dereferenced);
}

}  // namespace

Caller sframe_caller(const std::optional<sframe::Recovery>& recovery, const sframe::AbiTraits& traits,
                     std::int8_t fixed_ra_offset, std::uint64_t pc) {
  Caller caller;
  if (!recovery) {
    caller.exists = false;
    caller.text = "RA undefined";
    return caller;
  }
  const Machine machine(pc);
  const std::uint64_t cfa = apply(recovery->cfa, 0, machine);
  const sframe::Rule return_address =
      recovery->return_address.value_or(sframe::Rule{std::nullopt, fixed_ra_offset, true});
  const sframe::Rule frame_pointer = recovery->frame_pointer.value_or(sframe::Rule{traits.frame_pointer, 0, false});
  caller.stack_pointer = cfa;
  caller.return_address = apply(return_address, cfa, machine);
  caller.frame_pointer = apply(frame_pointer, cfa, machine);
  caller.cfa_text = text_of(recovery->cfa);
  caller.text = "CFA " + caller.cfa_text + ", RA " + text_of(return_address) + ", FP " + text_of(frame_pointer);
  return caller;
}

}  // namespace sframe_gen::verify
