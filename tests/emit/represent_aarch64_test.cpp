// What SFrame says of each rule on aarch64, and each reason why it cannot. Flexible descriptors are off by default
// there.

#include <gtest/gtest.h>

#include "emit/rules.hpp"
#include "sframe/format.hpp"

namespace sframe_gen::test {
namespace {

constexpr std::uint32_t x0 = 0, x19 = 19, x29 = 29, x30 = 30, sp = 31, pc = 32, vg = 46, v8 = 72;
constexpr std::int64_t too_far = std::int64_t{1} << 31U;

cfi::Rules at_entry() {
  return entry_rules(sframe::Abi::Aarch64Little);
}
cfi::Rules with_cfa(const cfi::CfaRule& rule) {
  cfi::Rules rules = at_entry();
  rules.cfa = rule;
  return rules;
}
/// Both columns of the frame record: a default row says the FP only behind the RA.
cfi::Rules with_ra_fp(const cfi::RegisterRule& return_address, const cfi::RegisterRule& frame_pointer) {
  cfi::Rules rules = with_cfa(reg(sp, 32));
  rules.return_address = return_address;
  rules.frame_pointer = frame_pointer;
  return rules;
}
cfi::Rules with_ra(const cfi::RegisterRule& rule) {
  return with_ra_fp(rule, cfi::Unspecified{});
}
cfi::Rules with_fp(const cfi::RegisterRule& rule) {
  return with_ra_fp(at_cfa(-24), rule);
}
cfi::Rules with_sp(const cfi::RegisterRule& rule) {
  cfi::Rules rules = with_cfa(reg(sp, 32));
  rules.stack_pointer = rule;
  return rules;
}
cfi::Rules with_signing(cfi::Signing signing) {
  cfi::Rules rules = with_ra_fp(at_cfa(-24), at_cfa(-32));
  rules.signing = signing;
  return rules;
}

const emit::Dialect flexible_v3 = dialect_of(sframe::Abi::Aarch64Little, v3_flexible);

sframe::RecoveryRules recovery(const cfi::Rules& rules) {
  return recovery_of(rules, flexible_v3);
}

// What the rows say
TEST(LowerAarch64, Entry) {
  EXPECT_EQ(recovery(at_entry()), (sframe::RecoveryRules{.cfa = sframe::Rule::in_register(sp)}));
}
TEST(LowerAarch64, FrameRecord) {
  EXPECT_EQ(recovery(with_ra_fp(at_cfa(-24), at_cfa(-32))),
            (sframe::RecoveryRules{sframe::Rule::register_plus(sp, 32), sframe::Rule::at_cfa(-24),
                                   sframe::Rule::at_cfa(-32), false}));
}
TEST(LowerAarch64, RegistersInThemselvesAreUnchanged) {
  const sframe::RecoveryRules unchanged{{sp, 32, false}, {}, {}, false};
  EXPECT_EQ(recovery(with_ra_fp(reg(x30, 0), reg(x29, 0))), unchanged);
  EXPECT_EQ(recovery(with_ra_fp(cfi::SameValue{}, cfi::SameValue{})), unchanged);
}
TEST(LowerAarch64, ReturnAddressInAnotherRegister) {
  EXPECT_EQ(recovery(with_ra(reg(x19, 0))).return_address, sframe::Rule::in_register(x19));
}
TEST(LowerAarch64, FramePointerWithoutReturnAddress) {
  EXPECT_EQ(recovery(with_ra_fp({}, at_cfa(-16))),
            (sframe::RecoveryRules{sframe::Rule::register_plus(sp, 32), {}, sframe::Rule::at_cfa(-16), false}));
}
TEST(LowerAarch64, ReturnAddressAsCfaPlusOffsetTakesTheCfasRegister) {
  EXPECT_EQ(recovery(with_ra(cfa_plus(-24))).return_address, sframe::Rule::register_plus(sp, 8));
}
TEST(LowerAarch64, SignedReturnAddress) {
  EXPECT_TRUE(recovery(with_signing(cfi::Signing::Signed)).mangled_ra);
  EXPECT_FALSE(recovery(with_signing(cfi::Signing::Plain)).mangled_ra);
}
TEST(LowerAarch64, SignedInItsRegister) {
  cfi::Rules rules = at_entry();
  rules.signing = cfi::Signing::Signed;
  EXPECT_EQ(recovery(rules), (sframe::RecoveryRules{sframe::Rule::in_register(sp), {}, {}, true}));
}
TEST(LowerAarch64, OutermostFrameHasNothingToSign) {
  cfi::Rules rules = with_ra(cfi::Undefined{});
  rules.signing = cfi::Signing::Unknown;
  EXPECT_EQ(form_of(rules, flexible_v3), "no words");
}

/// A rule, and what becomes of it: with flexible descriptors; without them, in versions 3, 2 and 1; in CTF Frame.
struct ByVersion {
  const char *flexible, *plain, *ctf;
};
constexpr ByVersion always(const char* form) {
  return {form, form, form};
}
struct Aarch64Form {
  const char* name;
  cfi::Rules rules;
  ByVersion forms;
};

class Aarch64Forms : public testing::TestWithParam<Aarch64Form> {};

TEST_P(Aarch64Forms, OfEachVersionInBothByteOrders) {
  const Aarch64Form& tested = GetParam();
  for (const sframe::Abi abi : {sframe::Abi::Aarch64Little, sframe::Abi::Aarch64Big}) {
    EXPECT_EQ(form_of(tested.rules, dialect_of(abi, v3_flexible)), tested.forms.flexible);
    for (const OutputFormat& format : {v3, v3_plain, v2, v2_from_section, v1}) {
      EXPECT_EQ(form_of(tested.rules, dialect_of(abi, format)), tested.forms.plain)
          << sframe::traits_of(format.version).name;
    }
    EXPECT_EQ(form_of(tested.rules, dialect_of(abi, ctf_frame)), tested.forms.ctf);
  }
}

constexpr const char* sp_elsewhere = "stack-pointer-restored-elsewhere";
constexpr const char* cfa_flexible = "cfa-needs-flexible";
constexpr const char* ra_flexible = "return-address-needs-flexible";
constexpr const char* fp_flexible = "frame-pointer-needs-flexible";
constexpr const char* fp_alone = "frame-pointer-without-return-address";
constexpr const char* ra_alone = "return-address-without-frame-pointer";

const Aarch64Form aarch64_forms[]{
    {"Entry", at_entry(), always("default")},
    {"CfaOnFp", with_cfa(reg(x29, 32)), always("default")},
    {"CfaAtAnOddOffset", with_cfa(reg(sp, 33)), always("default")},
    {"CfaOnAnotherRegister", with_cfa(reg(x19, 32)), {"flexible", cfa_flexible, cfa_flexible}},
    {"CfaInMemory", with_cfa(at_reg(x29, -8)), {"flexible", cfa_flexible, cfa_flexible}},
    {"CfaOnTheVectorLength", with_cfa(reg(vg, 8)), always("cfa-base-is-no-register")},
    {"CfaOnThePc", with_cfa(reg(pc, 8)), always("cfa-base-is-no-register")},
    {"CfaByExpression", with_cfa(cfi::OtherExpression{}), always("cfa-is-expression")},
    {"CfaUnspecified", with_cfa(cfi::Unspecified{}), always("cfa-unspecified")},
    {"CfaTooFar", with_cfa(reg(sp, too_far)), always("offset-too-large")},
    {"CfaAsFarAsCanBe", with_cfa(reg(sp, too_far - 1)), always("default")},
    {"CfaOfAPltOfX86", with_cfa(cfi::PltStub{cfi::DwarfRegister{sp}, 8, 11}), always("cfa-is-expression")},
    {"RaSaved", with_ra(at_cfa(-24)), {"default", "default", ra_alone}},
    {"RaSameValue", with_ra(cfi::SameValue{}), always("default")},
    {"RaAtTheCfa", with_ra_fp(at_cfa(0), at_cfa(-8)), {"flexible", ra_flexible, ra_flexible}},
    {"RaTooFar", with_ra(at_cfa(too_far)), always("offset-too-large")},
    {"RaInARegister", with_ra_fp(reg(x19, 0), at_cfa(-32)), {"flexible", ra_flexible, ra_flexible}},
    {"RaInAVectorRegister", with_ra_fp(reg(v8, 0), at_cfa(-32)), {"flexible", ra_flexible, ra_flexible}},
    {"RaByExpression", with_ra_fp(at_reg(x0, 8), at_cfa(-32)), {"flexible", ra_flexible, ra_flexible}},
    {"RaIsCfaPlusOffset", with_ra_fp(cfa_plus(-8), at_cfa(-32)), {"flexible", ra_flexible, ra_flexible}},
    {"RaByAnotherExpression", with_ra(cfi::OtherExpression{}), always("return-address-is-expression")},
    {"RaInThePc", with_ra(reg(pc, 0)), always("rule-base-is-no-register")},
    {"FpAndRaSaved", with_fp(at_cfa(-32)), always("default")},
    {"FpSavedAlone", with_ra_fp({}, at_cfa(-32)), {"flexible", fp_alone, "default"}},
    {"FpInARegister", with_fp(reg(x19, 0)), {"flexible", fp_flexible, fp_flexible}},
    {"FpByExpression", with_fp(at_reg(x0, 8)), {"flexible", fp_flexible, fp_flexible}},
    {"FpIsCfaPlusOffset", with_fp(cfa_plus(-32)), {"flexible", fp_flexible, fp_flexible}},
    {"FpByAnotherExpression", with_fp(cfi::OtherExpression{}), always("frame-pointer-is-expression")},
    {"FpLost", with_fp(cfi::Undefined{}), always("frame-pointer-undefined")},
    {"SpIsTheCfa", with_sp(cfa_plus(0)), always("default")},
    {"SpSpellsTheCfa", with_sp(reg(sp, 32)), always("default")},
    {"SpSaved", with_sp(at_cfa(-40)), {"flexible", cfa_flexible, cfa_flexible}},
    {"SpOffTheCfa", with_sp(cfa_plus(-160)), always("default")},
    {"SpSameValue", with_sp(cfi::SameValue{}), always(sp_elsewhere)},
    {"SpLost", with_sp(cfi::Undefined{}), always(sp_elsewhere)},
    {"Signed", with_signing(cfi::Signing::Signed), {"default", "default", "signed-return-address"}},
    {"SignedInAWayUnknown", with_signing(cfi::Signing::Unknown), always("signing-unknown")},
};
INSTANTIATE_TEST_SUITE_P(Rules, Aarch64Forms, testing::ValuesIn(aarch64_forms),
                         [](const auto& tested) { return std::string(tested.param.name); });

// Linux takes the word 0 of a default row for "unchanged".
TEST(LowerAarch64, FpAtTheCfaItselfNeedsAControlWordInVersion3) {
  const cfi::Rules rules = with_ra_fp(at_cfa(8), at_cfa(0));
  EXPECT_EQ(form_of(rules, flexible_v3), "flexible");
  EXPECT_EQ(form_of(rules, dialect_of(sframe::Abi::Aarch64Little, v3)), fp_flexible);
  for (const OutputFormat& format : {v2, v2_from_section, v1, ctf_frame})
    EXPECT_EQ(form_of(rules, dialect_of(sframe::Abi::Aarch64Little, format)), "default");
}

TEST(LowerAarch64, OutermostFrameOfEachVersion) {
  const cfi::Rules rules = with_ra(cfi::Undefined{});
  for (const OutputFormat& format : {v3, v3_flexible, v2}) {
    EXPECT_EQ(form_of(rules, dialect_of(sframe::Abi::Aarch64Little, format)), "no words");
  }
  for (const OutputFormat& format : {v2_from_section, v1, ctf_frame}) {
    EXPECT_EQ(form_of(rules, dialect_of(sframe::Abi::Aarch64Little, format)), "return-address-undefined");
  }
}

}  // namespace
}  // namespace sframe_gen::test
