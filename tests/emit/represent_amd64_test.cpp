// What SFrame says of each rule on x86-64, and each reason why it cannot.

#include <gtest/gtest.h>

#include "emit/rules.hpp"
#include "sframe/format.hpp"

namespace sframe_gen::test {
namespace {

constexpr std::uint32_t rbx = 3, rbp = 6, rsp = 7, r10 = 10, rip = 16;

cfi::Rules at_entry() {
  return entry_rules(sframe::Abi::Amd64);
}

cfi::Rules with_cfa(const cfi::CfaRule& rule) {
  cfi::Rules rules = at_entry();
  rules.cfa = rule;
  return rules;
}
cfi::Rules with_fp(const cfi::RegisterRule& rule) {
  cfi::Rules rules = at_entry();
  rules.frame_pointer = rule;
  return rules;
}
cfi::Rules with_ra(const cfi::RegisterRule& rule) {
  cfi::Rules rules = at_entry();
  rules.return_address = rule;
  return rules;
}
cfi::Rules with_sp(const cfi::RegisterRule& rule) {
  cfi::Rules rules = at_entry();
  rules.stack_pointer = rule;
  return rules;
}

sframe::RecoveryRules recovery(const cfi::Rules& rules) {
  return recovery_of(rules, amd64_v3);
}
std::string form(const cfi::Rules& rules) {
  return form_of(rules, amd64_v3);
}

// Default descriptors
TEST(LowerAmd64, Entry) {
  const sframe::RecoveryRules entry = recovery(at_entry());
  EXPECT_EQ(entry, (sframe::RecoveryRules{.cfa = sframe::Rule::register_plus(rsp, 8)}));
  EXPECT_EQ(form(at_entry()), "default");
}
TEST(LowerAmd64, FrameWithSavedFp) {
  cfi::Rules rules = with_cfa(reg(rbp, 16));
  rules.frame_pointer = at_cfa(-16);
  EXPECT_EQ(recovery(rules),
            (sframe::RecoveryRules{sframe::Rule::register_plus(rbp, 16), {}, sframe::Rule::at_cfa(-16), false}));
  EXPECT_EQ(form(rules), "default");
}
TEST(LowerAmd64, FpInItselfIsUnchanged) {
  EXPECT_EQ(recovery(with_fp(reg(rbp, 0))), recovery(at_entry()));
}
TEST(LowerAmd64, FpSameValueIsUnchanged) {
  EXPECT_EQ(recovery(with_fp(cfi::SameValue{})), recovery(at_entry()));
}

// Flexible descriptors
TEST(LowerAmd64, CfaOnAnotherRegister) {
  EXPECT_EQ(recovery(with_cfa(reg(r10, 0))).cfa, sframe::Rule::in_register(r10));
  EXPECT_EQ(form(with_cfa(reg(r10, 0))), "flexible");
}
TEST(LowerAmd64, CfaInMemory) {
  EXPECT_EQ(recovery(with_cfa(at_reg(rbp, -8))).cfa, sframe::Rule::at_register(rbp, -8));
}
TEST(LowerAmd64, RaInARegister) {
  EXPECT_EQ(recovery(with_ra(reg(rbx, 0))).return_address, sframe::Rule::in_register(rbx));
}
TEST(LowerAmd64, RaElsewhereOnTheStack) {
  EXPECT_EQ(recovery(with_ra(at_cfa(-24))).return_address, sframe::Rule::at_cfa(-24));
}
TEST(LowerAmd64, RaAtTheCfaItself) {
  EXPECT_EQ(recovery(with_ra(at_cfa(0))).return_address, sframe::Rule::at_cfa(0));
}
// Linux takes the word 0 of a default row for "unchanged".
TEST(LowerAmd64, FpAtTheCfaItselfTakesAControlWord) {
  EXPECT_EQ(recovery(with_fp(at_cfa(0))).frame_pointer, sframe::Rule::at_cfa(0));
  EXPECT_EQ(form(with_fp(at_cfa(0))), "flexible");
  EXPECT_EQ(form_of(with_fp(at_cfa(0)), dialect_of(sframe::Abi::Amd64, v3_plain)), "frame-pointer-needs-flexible");
  for (const OutputFormat& format : {v2, v1, ctf_frame})
    EXPECT_EQ(form_of(with_fp(at_cfa(0)), dialect_of(sframe::Abi::Amd64, format)), "default");
}
TEST(LowerAmd64, FpByExpression) {
  EXPECT_EQ(recovery(with_fp(at_reg(rbp, 0))).frame_pointer, sframe::Rule::at_register(rbp, 0));
}
TEST(LowerAmd64, ValueOfCfaPlusOffsetTakesTheCfasRegister) {
  EXPECT_EQ(recovery(with_fp(cfa_plus(-16))).frame_pointer, sframe::Rule::register_plus(rsp, -8));
}

// __restore_rt of glibc: CFA, SP, RA and FP in the saved context
TEST(LowerAmd64, SignalTrampoline) {
  const cfi::Rules rules{at_reg(rsp, 160), at_reg(rsp, 160), at_reg(rsp, 120), at_reg(rsp, 168)};
  EXPECT_EQ(recovery(rules),
            (sframe::RecoveryRules{sframe::Rule::at_register(rsp, 160), sframe::Rule::at_register(rsp, 168),
                                   sframe::Rule::at_register(rsp, 120), false}));
}

TEST(LowerAmd64, UndefinedRaIsTheOutermostFrameWhateverElseIsSaid) {
  cfi::Rules rules = with_ra(cfi::Undefined{});
  rules.cfa = cfi::OtherExpression{};
  rules.frame_pointer = cfi::Undefined{};
  EXPECT_EQ(form(rules), "no words");
}

// The caller's SP
TEST(LowerAmd64, SpRuleThatSaysTheCfa) {
  EXPECT_EQ(form(with_sp(cfa_plus(0))), "default");
}
TEST(LowerAmd64, SpRuleThatSpellsTheCfa) {
  EXPECT_EQ(form(with_sp(reg(rsp, 8))), "default");
}
// SFrame's CFA is the caller's SP; what counted from DWARF's counts from its register.
TEST(LowerAmd64, SpSavedElsewhere) {
  EXPECT_EQ(recovery(with_sp(at_cfa(-24))),
            (sframe::RecoveryRules{sframe::Rule::at_register(rsp, -16), sframe::Rule::at_register(rsp, 0), {}, false}));
}
TEST(LowerAmd64, SpOffTheCfa) {
  EXPECT_EQ(recovery(with_sp(cfa_plus(16))),
            (sframe::RecoveryRules{sframe::Rule::register_plus(rsp, 24), sframe::Rule::at_cfa(-24), {}, false}));
}
// __longjmp of glibc
TEST(LowerAmd64, AllInRegisters) {
  const cfi::Rules rules{reg(5, 0), reg(8, 0), reg(9, 0), reg(1, 0)};
  EXPECT_EQ(recovery(rules), (sframe::RecoveryRules{sframe::Rule::in_register(8), sframe::Rule::in_register(1),
                                                    sframe::Rule::in_register(9), false}));
}
// setcontext and swapcontext of glibc: CFA rdx + 0
TEST(LowerAmd64, AllInSlots) {
  const cfi::Rules rules{reg(1, 0), at_cfa(160), at_cfa(120), at_cfa(168)};
  EXPECT_EQ(recovery(rules),
            (sframe::RecoveryRules{sframe::Rule::at_register(1, 160), sframe::Rule::at_register(1, 168),
                                   sframe::Rule::at_register(1, 120), false}));
}
TEST(LowerAmd64, SpElsewhereAndCfaInMemory) {
  cfi::Rules rules = with_sp(reg(r10, 0));
  rules.cfa = at_reg(rbp, -8);
  EXPECT_EQ(form(rules), "stack-pointer-restored-elsewhere");
  // What does not count from it can still be said.
  rules.return_address = at_reg(r10, 8);
  EXPECT_EQ(recovery(rules),
            (sframe::RecoveryRules{sframe::Rule::in_register(r10), sframe::Rule::at_cfa(8), {}, false}));
}

// One meaning in other words
TEST(LowerAmd64, SlotsByTheCfasRegister) {
  cfi::Rules rules = with_cfa(reg(rsp, 24));
  rules.return_address = at_reg(rsp, 16);
  rules.frame_pointer = at_reg(rsp, 8);
  EXPECT_EQ(recovery(rules),
            (sframe::RecoveryRules{sframe::Rule::register_plus(rsp, 24), {}, sframe::Rule::at_cfa(-16), false}));
  EXPECT_EQ(form(rules), "default");
}
TEST(LowerAmd64, FpAsADistanceFromTheCfa) {
  cfi::Rules rules = with_cfa(reg(rbp, 16));
  rules.frame_pointer = cfa_plus(-16);
  EXPECT_EQ(recovery(rules).frame_pointer, std::nullopt);
}
TEST(LowerAmd64, ValueOfACfaInMemory) {
  cfi::Rules rules = with_cfa(at_reg(rbp, -8));
  rules.frame_pointer = cfa_plus(0);
  EXPECT_EQ(recovery(rules).frame_pointer, sframe::Rule::at_register(rbp, -8));
}
TEST(LowerAmd64, SpSameValue) {
  EXPECT_EQ(form(with_sp(cfi::SameValue{})), "stack-pointer-restored-elsewhere");
}
TEST(LowerAmd64, SpUndefined) {
  EXPECT_EQ(form(with_sp(cfi::Undefined{})), "stack-pointer-restored-elsewhere");
}
TEST(LowerAmd64, SpByAnotherExpression) {
  EXPECT_EQ(form(with_sp(cfi::OtherExpression{})), "stack-pointer-restored-elsewhere");
}

// The other reasons
TEST(LowerAmd64, CfaUnspecified) {
  EXPECT_EQ(form(with_cfa(cfi::Unspecified{})), "cfa-unspecified");
}
TEST(LowerAmd64, CfaIsExpression) {
  EXPECT_EQ(form(with_cfa(cfi::OtherExpression{})), "cfa-is-expression");
}
TEST(LowerAmd64, CfaBaseIsNoRegister) {
  EXPECT_EQ(form(with_cfa(reg(rip, 8))), "cfa-base-is-no-register");
}
TEST(LowerAmd64, CfaBaseThatNoMachineHas) {
  constexpr std::uint32_t last = 145, too_large = 1U << 29U;
  EXPECT_EQ(form(with_cfa(reg(last, 8))), "flexible");
  for (const std::uint32_t number : {last + 1, too_large - 1, too_large})
    EXPECT_EQ(form(with_cfa(reg(number, 8))), "cfa-base-is-no-register");
}
TEST(LowerAmd64, OffsetTooLarge) {
  EXPECT_EQ(form(with_cfa(reg(rsp, std::int64_t{1} << 31U))), "offset-too-large");
}
TEST(LowerAmd64, LargestOffsetFits) {
  EXPECT_EQ(form(with_cfa(reg(rsp, (std::int64_t{1} << 31U) - 1))), "default");
}
TEST(LowerAmd64, ReturnAddressUnspecified) {
  EXPECT_EQ(form(with_ra(cfi::Unspecified{})), "return-address-unspecified");
}
TEST(LowerAmd64, ReturnAddressSameValue) {
  EXPECT_EQ(form(with_ra(cfi::SameValue{})), "return-address-unspecified");
}
TEST(LowerAmd64, ReturnAddressIsExpression) {
  EXPECT_EQ(form(with_ra(cfi::OtherExpression{})), "return-address-is-expression");
}
TEST(LowerAmd64, FramePointerUndefined) {
  EXPECT_EQ(form(with_fp(cfi::Undefined{})), "frame-pointer-undefined");
}
TEST(LowerAmd64, FramePointerIsExpression) {
  EXPECT_EQ(form(with_fp(cfi::OtherExpression{})), "frame-pointer-is-expression");
}
TEST(LowerAmd64, RuleBaseIsNoRegister) {
  EXPECT_EQ(form(with_fp(at_reg(rip, 8))), "rule-base-is-no-register");
}
TEST(LowerAmd64, ValueIsCfaPlusOffset) {
  cfi::Rules rules = with_cfa(at_reg(rbp, -8));
  rules.frame_pointer = cfa_plus(-16);
  EXPECT_EQ(form(rules), "value-is-cfa-plus-offset");
}
TEST(LowerAmd64, OpaqueRowsKeepTheirReason) {
  EXPECT_EQ(form(with_cfa(cfi::UnknownReason::UnknownInstruction)), "unknown-instruction");
  EXPECT_EQ(form(with_cfa(cfi::UnknownReason::MalformedFde)), "malformed-entry");
  EXPECT_EQ(form(with_cfa(cfi::UnknownReason::UnknownAugmentation)), "unknown-augmentation");
  EXPECT_EQ(form(with_cfa(cfi::UnknownReason::CfaRuleWithoutRegister)), "cfa-rule-without-register");
  EXPECT_EQ(form(with_cfa(cfi::UnknownReason::ForeignReturnColumn)), "foreign-return-column");
  EXPECT_EQ(form(with_cfa(cfi::UnknownReason::ConflictingFdes)), "conflicting-entries");
  EXPECT_EQ(form(with_cfa(cfi::UnknownReason::UnknownStub)), "unknown-stub");
  EXPECT_EQ(form(with_cfa(cfi::UnknownReason::GoSwitchesStacks)), "go-switches-stacks");
  EXPECT_EQ(form(with_cfa(cfi::UnknownReason::GoNotCalled)), "go-not-called");
  EXPECT_EQ(form(with_cfa(cfi::UnknownReason::GoRegisters)), "go-registers");
  EXPECT_EQ(form(with_cfa(cfi::UnknownReason::GoInstructions)), "go-instructions");
  EXPECT_EQ(form(with_cfa(cfi::UnknownReason::ContradictedByCode)), "contradicted-by-code");
}
TEST(LowerAmd64, OpaqueRowIsNotOutermost) {
  cfi::Rules rules = with_ra(cfi::Undefined{});
  rules.cfa = cfi::UnknownReason::ConflictingFdes;
  EXPECT_EQ(form(rules), "conflicting-entries");
}

TEST(LowerAmd64, PltStub) {
  EXPECT_EQ(form(with_cfa(cfi::PltStub{cfi::amd64::rsp, 8, 11})), "plt");
}
TEST(LowerAmd64, PltStubWithASavedFpIsJustAnExpression) {
  cfi::Rules rules = with_cfa(cfi::PltStub{cfi::amd64::rsp, 8, 11});
  rules.frame_pointer = at_cfa(-16);
  EXPECT_EQ(form(rules), "cfa-is-expression");
}

TEST(LowerAmd64, PltStubOnAnotherRegisterIsJustAnExpression) {
  EXPECT_EQ(form(with_cfa(cfi::PltStub{cfi::DwarfRegister{r10}, 8, 11})), "cfa-is-expression");
}
TEST(LowerAmd64, PltStubWhoseSecondRowDoesNotFit) {
  EXPECT_EQ(form(with_cfa(cfi::PltStub{cfi::amd64::rsp, (std::int64_t{1} << 31U) - 1, 11})), "offset-too-large");
}
// The CFA is 8 more behind the push; a value in rsp's own terms is not.
TEST(LowerAmd64, PltStubWithAStackPointerThatIsTheCfaInFrontOfThePushOnly) {
  cfi::Rules rules = with_cfa(cfi::PltStub{cfi::amd64::rsp, 8, 11});
  rules.stack_pointer = cfi::Formula{cfi::amd64::rsp, 8, false};
  EXPECT_EQ(form(rules), "stack-pointer-restored-elsewhere");
  rules.stack_pointer = cfi::Formula{std::nullopt, 0, false};
  EXPECT_EQ(form(rules), form(with_cfa(cfi::PltStub{cfi::amd64::rsp, 8, 11})));
}
TEST(LowerAmd64, PltStubWithoutAReturnAddressKeepsThatReason) {
  cfi::Rules rules = with_cfa(cfi::PltStub{cfi::amd64::rsp, 8, 11});
  rules.return_address = cfi::Unspecified{};
  EXPECT_EQ(form(rules), "return-address-unspecified");
}
TEST(LowerAmd64, OffsetOfASavedRegisterTooLarge) {
  EXPECT_EQ(form(with_fp(at_cfa(-(std::int64_t{1} << 31U) - 1))), "offset-too-large");
  EXPECT_EQ(form(with_ra(at_cfa(std::int64_t{1} << 31U))), "offset-too-large");
}

/// A rule, how version 3 says it, and what becomes of it where there are no flexible descriptors.
struct Amd64Form {
  const char* name;
  cfi::Rules rules;
  const char* newest;
  const char* plain;
};

class Amd64Forms : public testing::TestWithParam<Amd64Form> {};

TEST_P(Amd64Forms, OfEachVersion) {
  const Amd64Form& tested = GetParam();
  EXPECT_EQ(form(tested.rules), tested.newest);
  for (const OutputFormat& format : {v3_plain, v2, v2_from_section, v1, ctf_frame}) {
    EXPECT_EQ(form_of(tested.rules, dialect_of(sframe::Abi::Amd64, format)), tested.plain)
        << sframe::traits_of(format.version).name;
  }
}

const Amd64Form amd64_forms[]{
    {"Entry", at_entry(), "default", "default"},
    {"CfaOnFp", with_cfa(reg(rbp, 16)), "default", "default"},
    {"CfaOnAnotherRegister", with_cfa(reg(r10, 0)), "flexible", "cfa-needs-flexible"},
    {"CfaInMemory", with_cfa(at_reg(rbp, -8)), "flexible", "cfa-needs-flexible"},
    {"CfaTooFar", with_cfa(reg(rsp, std::int64_t{1} << 31U)), "offset-too-large", "offset-too-large"},
    {"RaElsewhere", with_ra(at_cfa(-24)), "flexible", "return-address-needs-flexible"},
    {"RaAtTheCfa", with_ra(at_cfa(0)), "flexible", "return-address-needs-flexible"},
    {"RaInARegister", with_ra(reg(rbx, 0)), "flexible", "return-address-needs-flexible"},
    {"RaByExpression", with_ra(at_reg(rbx, 8)), "flexible", "return-address-needs-flexible"},
    {"RaIsCfaPlusOffset", with_ra(cfa_plus(-8)), "flexible", "return-address-needs-flexible"},
    {"FpSaved", with_fp(at_cfa(-16)), "default", "default"},
    {"FpSavedAtAnOddPlace", with_fp(at_cfa(-15)), "default", "default"},
    {"FpInARegister", with_fp(reg(rbx, 0)), "flexible", "frame-pointer-needs-flexible"},
    {"FpByExpression", with_fp(at_reg(rbp, 0)), "flexible", "frame-pointer-needs-flexible"},
    {"FpIsCfaPlusOffset", with_fp(cfa_plus(-16)), "flexible", "frame-pointer-needs-flexible"},
    {"FpLost", with_fp(cfi::Undefined{}), "frame-pointer-undefined", "frame-pointer-undefined"},
    {"SpIsTheCfa", with_sp(cfa_plus(0)), "default", "default"},
    {"SpElsewhere", with_sp(at_cfa(-24)), "flexible", "cfa-needs-flexible"},
    {"SpUndefined", with_sp(cfi::Undefined{}), "stack-pointer-restored-elsewhere", "stack-pointer-restored-elsewhere"},
    {"Plt", with_cfa(cfi::PltStub{cfi::amd64::rsp, 8, 11}), "plt", "plt"},
};
INSTANTIATE_TEST_SUITE_P(Rules, Amd64Forms, testing::ValuesIn(amd64_forms),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(LowerAmd64, OutermostFrameOfEachVersion) {
  const cfi::Rules rules = with_ra(cfi::Undefined{});
  EXPECT_EQ(form_of(rules, dialect_of(sframe::Abi::Amd64, v3)), "no words");
  EXPECT_EQ(form_of(rules, dialect_of(sframe::Abi::Amd64, v3_plain)), "no words");
  EXPECT_EQ(form_of(rules, dialect_of(sframe::Abi::Amd64, v2)), "no words");
  for (const OutputFormat& format : {v2_from_section, v1, ctf_frame}) {
    EXPECT_EQ(form_of(rules, dialect_of(sframe::Abi::Amd64, format)), "return-address-undefined")
        << sframe::traits_of(format.version).name;
  }
}

}  // namespace
}  // namespace sframe_gen::test
