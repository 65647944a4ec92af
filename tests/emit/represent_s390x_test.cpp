// What SFrame says of each rule on s390x, and each reason why it cannot. The caller's SP is CFA - 160 there, and rows
// store (CFA offset - 160) / 8.

#include <gtest/gtest.h>

#include "emit/rules.hpp"

namespace sframe_gen::test {
namespace {

constexpr std::uint32_t r1 = 1, r10 = 10, r11 = 11, r14 = 14, r15 = 15, f0 = 16, f2 = 17, psw_address = 65, v16 = 68;
constexpr std::int64_t too_far = std::int64_t{1} << 31U;

cfi::Rules at_entry() {
  return entry_rules(sframe::Abi::S390x);
}
cfi::Rules with_cfa(const cfi::CfaRule& rule) {
  cfi::Rules rules = at_entry();
  rules.cfa = rule;
  return rules;
}
cfi::Rules with_ra_fp(const cfi::RegisterRule& return_address, const cfi::RegisterRule& frame_pointer) {
  cfi::Rules rules = at_entry();
  rules.return_address = return_address;
  rules.frame_pointer = frame_pointer;
  return rules;
}
cfi::Rules with_ra(const cfi::RegisterRule& rule) {
  return with_ra_fp(rule, cfi::Unspecified{});
}
cfi::Rules with_fp(const cfi::RegisterRule& rule) {
  return with_ra_fp(cfi::Unspecified{}, rule);
}
cfi::Rules with_sp(const cfi::RegisterRule& rule, const cfi::CfaRule& cfa = reg(r15, 160)) {
  cfi::Rules rules = with_cfa(cfa);
  rules.stack_pointer = rule;
  return rules;
}

const emit::Dialect s390x_v3 = dialect_of(sframe::Abi::S390x);
const emit::Dialect s390x_v2 = dialect_of(sframe::Abi::S390x, v2);

// What the rows say
TEST(LowerS390x, Entry) {
  EXPECT_EQ(recovery_of(at_entry(), s390x_v3), (sframe::RecoveryRules{.cfa = sframe::Rule::register_plus(r15, 160)}));
}
TEST(LowerS390x, BothSaved) {
  EXPECT_EQ(recovery_of(with_ra_fp(at_cfa(-48), at_cfa(-72)), s390x_v2),
            (sframe::RecoveryRules{sframe::Rule::register_plus(r15, 160), sframe::Rule::at_cfa(-48),
                                   sframe::Rule::at_cfa(-72), false}));
}
TEST(LowerS390x, RegistersInThemselvesAreUnchanged) {
  EXPECT_EQ(recovery_of(with_ra_fp(reg(r14, 0), reg(r11, 0)), s390x_v2), recovery_of(at_entry(), s390x_v2));
  EXPECT_EQ(recovery_of(with_ra_fp(cfi::SameValue{}, cfi::SameValue{}), s390x_v3), recovery_of(at_entry(), s390x_v3));
}
TEST(LowerS390x, InFloatingPointRegisters) {
  for (const emit::Dialect* dialect : {&s390x_v3, &s390x_v2}) {
    EXPECT_EQ(recovery_of(with_ra_fp(reg(f0, 0), reg(f2, 0)), *dialect),
              (sframe::RecoveryRules{sframe::Rule::register_plus(r15, 160), sframe::Rule::in_register(f0),
                                     sframe::Rule::in_register(f2), false}));
  }
}
TEST(LowerS390x, FramePointerAsCfaPlusOffsetTakesTheCfasRegister) {
  EXPECT_EQ(recovery_of(with_fp(cfa_plus(-160)), s390x_v2).frame_pointer, sframe::Rule::in_register(r15));
}

/// A rule, and what becomes of it: in version 3; in version 3 without flexible descriptors; in version 2.
struct ByVersion {
  const char *newest, *plain, *version_2;
};
constexpr ByVersion always(const char* form) {
  return {form, form, form};
}
struct S390xForm {
  const char* name;
  cfi::Rules rules;
  ByVersion forms;
};

class S390xForms : public testing::TestWithParam<S390xForm> {};

TEST_P(S390xForms, OfEachVersion) {
  const S390xForm& tested = GetParam();
  EXPECT_EQ(form_of(tested.rules, s390x_v3), tested.forms.newest);
  EXPECT_EQ(form_of(tested.rules, dialect_of(sframe::Abi::S390x, v3_flexible)), tested.forms.newest);
  EXPECT_EQ(form_of(tested.rules, dialect_of(sframe::Abi::S390x, v3_plain)), tested.forms.plain);
  EXPECT_EQ(form_of(tested.rules, s390x_v2), tested.forms.version_2);
  EXPECT_EQ(form_of(tested.rules, dialect_of(sframe::Abi::S390x, v2_without_outermost)), tested.forms.version_2);
}

constexpr const char* sp_elsewhere = "stack-pointer-restored-elsewhere";
constexpr const char* cfa_flexible = "cfa-needs-flexible";
constexpr const char* ra_flexible = "return-address-needs-flexible";
constexpr const char* fp_flexible = "frame-pointer-needs-flexible";

const S390xForm s390x_forms[]{
    {"Entry", at_entry(), always("default")},
    {"CfaOnFp", with_cfa(reg(r11, 336)), always("default")},
    {"CfaBelow160", with_cfa(reg(r15, 152)), always("default")},
    {"CfaNotAMultiple", with_cfa(reg(r15, 164)), always("offset-unaligned")},
    {"CfaNotAMultipleBelow160", with_cfa(reg(r15, 156)), always("offset-unaligned")},
    {"CfaOnAnotherRegister", with_cfa(reg(r10, 320)), {"flexible", cfa_flexible, cfa_flexible}},
    {"CfaOnAnotherRegisterNotAMultiple", with_cfa(reg(r10, 321)), always("offset-unaligned")},
    {"CfaInMemory", with_cfa(at_reg(r11, 8)), {"flexible", cfa_flexible, cfa_flexible}},
    {"CfaOnThePsw", with_cfa(reg(psw_address, 160)), always("cfa-base-is-no-register")},
    {"CfaByExpression", with_cfa(cfi::OtherExpression{}), always("cfa-is-expression")},
    {"CfaUnspecified", with_cfa(cfi::Unspecified{}), always("cfa-unspecified")},
    {"CfaTooFar", with_cfa(reg(r15, too_far)), always("offset-too-large")},
    {"CfaAsFarAsCanBe", with_cfa(reg(r15, too_far - 8)), always("default")},
    {"CfaOfAPltOfX86", with_cfa(cfi::PltStub{cfi::DwarfRegister{r15}, 160, 11}), always("cfa-is-expression")},
    {"RaSaved", with_ra(at_cfa(-48)), always("default")},
    {"RaAtAnOddPlace", with_ra(at_cfa(-47)), {"default", "default", "offset-unaligned"}},
    {"RaAtTheCfa", with_ra(at_cfa(0)), {"flexible", ra_flexible, ra_flexible}},
    {"RaTooFar", with_ra(at_cfa(too_far)), always("offset-too-large")},
    {"RaInAGeneralRegister", with_ra(reg(r1, 0)), {"flexible", ra_flexible, "default"}},
    {"RaInAFloatingPointRegister", with_ra(reg(f0, 0)), {"flexible", ra_flexible, "default"}},
    {"RaInAVectorRegister", with_ra(reg(v16, 0)), {"flexible", ra_flexible, "default"}},
    {"RaIsRegisterPlusOffset", with_ra(reg(r1, 8)), {"flexible", ra_flexible, ra_flexible}},
    {"RaByExpression", with_ra(at_reg(r1, 8)), {"flexible", ra_flexible, ra_flexible}},
    {"RaIsCfaPlusOffset", with_ra(cfa_plus(-8)), {"flexible", ra_flexible, ra_flexible}},
    {"RaByAnotherExpression", with_ra(cfi::OtherExpression{}), always("return-address-is-expression")},
    {"RaInThePsw", with_ra(reg(psw_address, 0)), always("rule-base-is-no-register")},
    {"FpSavedAlone", with_fp(at_cfa(-72)), always("default")},
    {"FpAtAnOddPlace", with_fp(at_cfa(-71)), {"default", "default", "offset-unaligned"}},
    {"FpAtTheCfa", with_fp(at_cfa(0)), {"flexible", fp_flexible, "default"}},
    {"FpInARegister", with_fp(reg(f2, 0)), {"flexible", fp_flexible, "default"}},
    {"FpByExpression", with_fp(at_reg(r1, 8)), {"flexible", fp_flexible, fp_flexible}},
    {"FpByAnotherExpression", with_fp(cfi::OtherExpression{}), always("frame-pointer-is-expression")},
    {"FpLost", with_fp(cfi::Undefined{}), always("frame-pointer-undefined")},
    {"SpIsTheCfaLess160", with_sp(cfa_plus(-160)), always("default")},
    {"SpInItsSlot", with_sp(at_cfa(-40), reg(r15, 320)), always("default")},
    {"SpUnchangedWhereTheCfaSaysSo", with_sp(cfi::SameValue{}), always("default")},
    {"SpUnchangedWhereTheCfaDoesNotSaySo", with_sp(cfi::SameValue{}, reg(r15, 320)), always(sp_elsewhere)},
    {"SpSpellsTheCfaLess160", with_sp(reg(r15, 160), reg(r15, 320)), always("default")},
    {"SpIsTheCfa", with_sp(cfa_plus(0)), always("default")},
    {"SpInAnotherSlot", with_sp(at_cfa(-48)), always(sp_elsewhere)},
    {"SpInARegister", with_sp(reg(f2, 0)), {"flexible", cfa_flexible, cfa_flexible}},
    {"SpLost", with_sp(cfi::Undefined{}), always(sp_elsewhere)},
};
INSTANTIATE_TEST_SUITE_P(Rules, S390xForms, testing::ValuesIn(s390x_forms),
                         [](const auto& tested) { return std::string(tested.param.name); });

// What is loaded from the CFA's place and 160 less is no address that a rule can name.
TEST(LowerS390x, SpAsTheCfaInMemoryIsNotTheCfaLess160) {
  EXPECT_EQ(form_of(with_sp(at_reg(r11, 8), at_reg(r11, 8)), s390x_v3), sp_elsewhere);
}

TEST(LowerS390x, OutermostFrameOfEachVersion) {
  const cfi::Rules rules = with_ra(cfi::Undefined{});
  for (const OutputFormat& format : {v3, v3_plain, v2}) {
    EXPECT_EQ(form_of(rules, dialect_of(sframe::Abi::S390x, format)), "no words");
  }
  EXPECT_EQ(form_of(rules, dialect_of(sframe::Abi::S390x, v2_without_outermost)), "return-address-undefined");
}

}  // namespace
}  // namespace sframe_gen::test
