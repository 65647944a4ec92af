#include "sframe/abi.hpp"
#include "verify/caller.hpp"
#include "verify/rule_text.hpp"

namespace sframe_gen::verify {

namespace {

/// Base + offset, and what is stored there if the rule says so (SFrame V3, section 3.2, "Recovery Rules").
std::uint64_t apply(const sframe::Rule& rule, std::uint64_t cfa, const SyntheticContext& context) {
  const std::uint64_t base = rule.base_register ? context.register_value(*rule.base_register) : cfa;
  const std::uint64_t place = base + static_cast<std::uint64_t>(std::int64_t{rule.offset});
  return rule.dereferenced ? context.read_memory(place) : place;
}

std::string text_of(const sframe::Rule& rule, const sframe::AbiTraits& abi) {
  const std::string base = rule.base_register ? register_name(abi.abi, *rule.base_register) : "CFA";
  return place_text(base, rule.offset, rule.dereferenced);
}

}  // namespace

Caller sframe_caller(const std::optional<sframe::RecoveryRules>& recovery, const sframe::Fde& fde,
                     const sframe::Section& section, std::uint64_t pc, Wording wording) {
  Caller caller;
  if (!recovery) {
    caller.exists = false;
    caller.text = "RA undefined";
    return caller;
  }
  const sframe::AbiTraits& abi = sframe::traits_of(section.abi);
  const SyntheticContext context(pc, abi);
  const std::uint64_t cfa = apply(recovery->cfa, 0, context);
  // Where the RA has no fixed place it is still in its register.
  const sframe::Rule default_place = section.fixed_ra_offset != 0
                                         ? sframe::Rule{std::nullopt, section.fixed_ra_offset, true}
                                         : sframe::Rule{abi.return_address, 0, false};
  const sframe::Rule return_address = recovery->return_address.value_or(default_place);
  const sframe::Rule frame_pointer = recovery->frame_pointer.value_or(sframe::Rule{abi.frame_pointer, 0, false});
  caller.stack_pointer = cfa + static_cast<std::uint64_t>(std::int64_t{abi.stack_pointer_bias});
  caller.return_address = apply(return_address, cfa, context);
  caller.frame_pointer = apply(frame_pointer, cfa, context);
  if (recovery->mangled_ra) caller.signing = fde.b_key ? Caller::Signing::KeyB : Caller::Signing::KeyA;
  if (wording == Wording::Numbers) return caller;
  caller.cfa_text = text_of(recovery->cfa, abi);
  caller.text = "CFA " + caller.cfa_text + ", RA " + text_of(return_address, abi) + text_of(caller.signing) + ", FP " +
                text_of(frame_pointer, abi);
  return caller;
}

}  // namespace sframe_gen::verify
