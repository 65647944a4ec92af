#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cfi/spelled.hpp"
#include "emit/rules.hpp"
#include "emit/split_functions.hpp"
#include "sframe/format.hpp"

/// Every rule that DWARF can give, machine by machine, for the table of docs/rules.md and the tests around it.
namespace sframe_gen::test {

/// One line of the table: rules that hold throughout a function.
struct DwarfRule {
  std::string text;
  std::function<void(SpelledFunction&)> apply;
};

/// What each line starts from: the usual frame of a function in its body.
inline SpelledFunction usual_function(sframe::Abi abi) {
  const sframe::AbiTraits& traits = sframe::traits_of(abi);
  cfi::Rules rules{reg(traits.stack_pointer, 320), {}, at_cfa(-72), at_cfa(-48)};
  if (!traits.tracks_return_address) rules.return_address = at_cfa(traits.fixed_ra_offset);
  return {0x1000, 0x20, false, {{0, rules}}};
}

inline std::vector<DwarfRule> dwarf_rules(sframe::Abi abi) {
  const sframe::AbiTraits& traits = sframe::traits_of(abi);
  const std::uint32_t sp = traits.stack_pointer, fp = traits.frame_pointer;
  const std::uint32_t other = 10, no_register = abi == sframe::Abi::Amd64 ? 16U : abi == sframe::Abi::S390x ? 65U : 34U;
  constexpr std::int64_t too_far = std::int64_t{1} << 31U;
  std::vector<DwarfRule> lines;
  const auto add = [&](const std::string& text, const std::function<void(cfi::Rules&)>& change) {
    lines.push_back({text, [change](SpelledFunction& f) { change(f.rows[0].rules); }});
  };
  const auto add_cfa = [&](const std::string& text, const cfi::CfaRule& rule) {
    add("CFA " + text, [rule](cfi::Rules& rules) { rules.cfa = rule; });
  };
  const auto add_rule = [&](const std::string& name, cfi::RegisterRule cfi::Rules::*column, const std::string& text,
                            const cfi::RegisterRule& rule) {
    add(name + " " + text, [column, rule](cfi::Rules& rules) { rules.*column = rule; });
  };

  add_cfa("SP + N", reg(sp, 320));
  add_cfa("FP + N", reg(fp, 320));
  add_cfa("another register + N", reg(other, 320));
  add_cfa("*(register + N)", at_reg(fp, 8));
  add_cfa("N no multiple of 8", reg(sp, 324));
  add_cfa("N beyond 32 bits", reg(sp, too_far));
  add_cfa("on a column that is not a register", reg(no_register, 8));
  if (abi == sframe::Abi::Amd64) {
    lines.push_back({"CFA of PLT entries, as ld says it", [](SpelledFunction& f) {
                       f.rows[0].rules = entry_rules(sframe::Abi::Amd64);
                       f.rows[0].rules.cfa = cfi::PltStub{cfi::amd64::rsp, 8, 11};
                     }});
  }
  add_cfa("any other expression", cfi::OtherExpression{});
  add_cfa("without a rule", cfi::Unspecified{});
  add_cfa("by def_cfa_offset after an expression", cfi::UnknownReason::CfaRuleWithoutRegister);

  const auto add_saved = [&](const std::string& name, cfi::RegisterRule cfi::Rules::*column) {
    add_rule(name, column, "offset(N)", at_cfa(-24));
    add_rule(name, column, "offset(N), N odd", at_cfa(-23));
    add_rule(name, column, "offset(0)", at_cfa(0));
    add_rule(name, column, "offset(N), N beyond 32 bits", at_cfa(too_far));
    add_rule(name, column, "register(R)", reg(other, 0));
    add_rule(name, column, "register(R), R not a register", reg(no_register, 0));
    add_rule(name, column, "val_expression R + N", reg(other, 8));
    add_rule(name, column, "expression R + N", at_reg(other, 8));
    add_rule(name, column, "val_offset(N)", cfa_plus(-24));
    add(name + " val_offset(N), CFA in memory", [column, fp](cfi::Rules& rules) {
      rules.cfa = at_reg(fp, 8);
      rules.*column = cfa_plus(-24);
    });
    add_rule(name, column, "any other expression", cfi::OtherExpression{});
    add_rule(name, column, "same_value", cfi::SameValue{});
    add_rule(name, column, "undefined", cfi::Undefined{});
    add_rule(name, column, "without a rule", cfi::Unspecified{});
  };
  if (traits.fixed_ra_offset != 0) add_rule("RA", &cfi::Rules::return_address, "offset(-8)", at_cfa(-8));
  add_saved("RA", &cfi::Rules::return_address);
  add("RA offset(N), FP without a rule", [](cfi::Rules& rules) { rules.frame_pointer = cfi::Unspecified{}; });
  add_saved("FP", &cfi::Rules::frame_pointer);

  const auto add_sp = [&](const std::string& text, const cfi::RegisterRule& rule) {
    add_rule("SP", &cfi::Rules::stack_pointer, text, rule);
  };
  add_sp("val_offset(0)", cfa_plus(0));
  add_sp("val_offset(-160)", cfa_plus(-160));
  add_sp("offset(-40)", at_cfa(-40));
  add_sp("offset, any other", at_cfa(-32));
  add_sp("register(R)", reg(other, 0));
  add("SP register(R), all others in registers", [=](cfi::Rules& rules) {
    rules = {reg(other + 1, 0), reg(other, 0), reg(other + 2, 0), reg(other + 3, 0)};
  });
  add("SP register(R), CFA in memory", [=](cfi::Rules& rules) {
    rules.cfa = at_reg(fp, 8);
    rules.stack_pointer = reg(other, 0);
  });
  add_sp("val_expression SP + N", reg(sp, 328));
  add_sp("any other expression", cfi::OtherExpression{});
  add_sp("same_value, CFA = SP + 320", cfi::SameValue{});
  add_sp("undefined", cfi::Undefined{});
  add_sp("without a rule", cfi::Unspecified{});

  if (traits.signs_return_address) {
    add("negate_ra_state", [](cfi::Rules& rules) { rules.signing = cfi::Signing::Signed; });
    add("negate_ra_state_with_pc, or a rule for column 34",
        [](cfi::Rules& rules) { rules.signing = cfi::Signing::Unknown; });
    lines.push_back({"augmentation B", [](SpelledFunction& f) { f.b_key = true; }});
  }
  lines.push_back({"augmentation S", [](SpelledFunction& f) { f.signal_frame = true; }});
  add_cfa("after an opcode without meaning", cfi::UnknownReason::UnknownInstruction);
  add_cfa("of instructions that cannot be followed", cfi::UnknownReason::MalformedFde);
  add_cfa("of a CIE with an augmentation that is not known", cfi::UnknownReason::UnknownAugmentation);
  add_cfa("of a CIE that returns by another column", cfi::UnknownReason::ForeignReturnColumn);
  add_cfa("of FDEs that overlap and disagree", cfi::UnknownReason::ConflictingFdes);
  add_cfa("in a section of stubs, but none that is known", cfi::UnknownReason::UnknownStub);
  add_cfa("of Go's functions that switch stacks", cfi::UnknownReason::GoSwitchesStacks);
  add_cfa("of Go's functions that signals lead to", cfi::UnknownReason::GoNotCalled);
  add_cfa("of Go's functions that lose registers", cfi::UnknownReason::GoRegisters);
  add_cfa("of Go's functions that contradict its table", cfi::UnknownReason::GoInstructions);
  if (abi == sframe::Abi::Amd64)
    add_cfa("that instructions contradict, with --omit-disproved", cfi::UnknownReason::ContradictedByCode);
  return lines;
}

/// One column of the table.
struct FormatColumn {
  const char* text;
  OutputFormat format;
};

inline std::vector<FormatColumn> format_columns(sframe::Abi abi) {
  switch (abi) {
    case sframe::Abi::Amd64:
      return {{"3", v3}, {"3 `--flexible=never`", v3_plain},
              {"2", v2}, {"2 `--for=gnu-ld-2.44`", v2_from_section},
              {"1", v1}, {"CTF Frame", ctf_frame}};
    case sframe::Abi::S390x:
      // Readers of version 2 before its errata do not know the machine.
      return {{"3", v3}, {"3 `--flexible=never`", v3_plain}, {"2", v2}};
    case sframe::Abi::Aarch64Little:
    case sframe::Abi::Aarch64Big:
      return {{"3", v3}, {"3 `--flexible=always`", v3_flexible},
              {"2", v2}, {"2 `--for=gnu-ld-2.44`", v2_from_section},
              {"1", v1}, {"CTF Frame", ctf_frame}};
  }
  return {};
}

}  // namespace sframe_gen::test
