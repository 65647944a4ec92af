// What SFrame V3 says of each rule, and each reason why it cannot.

#include "emit/lower.hpp"

#include <gtest/gtest.h>

#include "emit/dialects.hpp"

namespace sframe_gen::test {
namespace {

using emit::Lowered;
using emit::Unrepresentable;

cfi::Formula at_cfa(std::int64_t offset) {
  return {std::nullopt, offset, true};
}
cfi::Formula cfa_plus(std::int64_t offset) {
  return {std::nullopt, offset, false};
}
cfi::Formula reg(std::uint32_t number, std::int64_t offset) {
  return {cfi::DwarfRegister{number}, offset, false};
}
cfi::Formula at_reg(std::uint32_t number, std::int64_t offset) {
  return {cfi::DwarfRegister{number}, offset, true};
}

constexpr std::uint32_t rbx = 3, rbp = 6, rsp = 7, r10 = 10, rip = 16;

/// The rules at a function's entry; each test changes one.
cfi::Rules at_entry() {
  return {reg(rsp, 8), cfi::Unspecified{}, cfi::Unspecified{}, at_cfa(-8)};
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

sframe::Recovery recovery(const cfi::Rules& rules) {
  const Lowered lowered = emit::lower(rules, amd64_v3);
  EXPECT_TRUE(std::holds_alternative<sframe::Recovery>(lowered));
  return std::holds_alternative<sframe::Recovery>(lowered) ? std::get<sframe::Recovery>(lowered) : sframe::Recovery{};
}

std::string reason(const cfi::Rules& rules) {
  const Lowered lowered = emit::lower(rules, amd64_v3);
  const auto* why = std::get_if<Unrepresentable>(&lowered);
  return why != nullptr ? std::string(emit::key_of(*why)) : "none";
}

bool fits_default(const sframe::Recovery& recovery) {
  return !emit::obstacle_to_default(recovery, amd64_v3);
}

// Default descriptors
TEST(LowerAmd64, Entry) {
  const sframe::Recovery entry = recovery(at_entry());
  EXPECT_EQ(entry, (sframe::Recovery{{rsp, 8, false}, {}, {}, false}));
  EXPECT_TRUE(fits_default(entry));
}
TEST(LowerAmd64, FrameWithSavedFp) {
  cfi::Rules rules = with_cfa(reg(rbp, 16));
  rules.frame_pointer = at_cfa(-16);
  EXPECT_EQ(recovery(rules), (sframe::Recovery{{rbp, 16, false}, {}, sframe::Rule{std::nullopt, -16, true}, false}));
  EXPECT_TRUE(fits_default(recovery(rules)));
}
TEST(LowerAmd64, FpInItselfIsUnchanged) {
  EXPECT_EQ(recovery(with_fp(reg(rbp, 0))), recovery(at_entry()));
}
TEST(LowerAmd64, FpSameValueIsUnchanged) {
  EXPECT_EQ(recovery(with_fp(cfi::SameValue{})), recovery(at_entry()));
}

// Flexible descriptors
TEST(LowerAmd64, CfaOnAnotherRegister) {
  EXPECT_FALSE(fits_default(recovery(with_cfa(reg(r10, 0)))));
}
TEST(LowerAmd64, CfaInMemory) {
  EXPECT_EQ(recovery(with_cfa(at_reg(rbp, -8))).cfa, (sframe::Rule{rbp, -8, true}));
}
TEST(LowerAmd64, RaInARegister) {
  EXPECT_EQ(recovery(with_ra(reg(rbx, 0))).return_address, (sframe::Rule{rbx, 0, false}));
}
TEST(LowerAmd64, RaElsewhereOnTheStack) {
  EXPECT_EQ(recovery(with_ra(at_cfa(-24))).return_address, (sframe::Rule{std::nullopt, -24, true}));
}
TEST(LowerAmd64, RaAtTheCfaItself) {
  EXPECT_EQ(recovery(with_ra(at_cfa(0))).return_address, (sframe::Rule{std::nullopt, 0, true}));
}
TEST(LowerAmd64, FpByExpression) {
  EXPECT_EQ(recovery(with_fp(at_reg(rbp, 0))).frame_pointer, (sframe::Rule{rbp, 0, true}));
}
TEST(LowerAmd64, ValueOfCfaPlusOffsetTakesTheCfasRegister) {
  EXPECT_EQ(recovery(with_fp(cfa_plus(-16))).frame_pointer, (sframe::Rule{rsp, -8, false}));
}

// __restore_rt of glibc: CFA, SP, RA and FP in the saved context
TEST(LowerAmd64, SignalTrampoline) {
  const cfi::Rules rules{at_reg(rsp, 160), at_reg(rsp, 160), at_reg(rsp, 120), at_reg(rsp, 168)};
  EXPECT_EQ(recovery(rules),
            (sframe::Recovery{{rsp, 160, true}, sframe::Rule{rsp, 168, true}, sframe::Rule{rsp, 120, true}, false}));
}

TEST(LowerAmd64, UndefinedRaIsTheOutermostFrameWhateverElseIsSaid) {
  cfi::Rules rules = with_ra(cfi::Undefined{});
  rules.cfa = cfi::OtherExpression{};
  rules.frame_pointer = cfi::Undefined{};
  EXPECT_TRUE(std::holds_alternative<emit::Outermost>(emit::lower(rules, amd64_v3)));
}

// The caller's SP
TEST(LowerAmd64, SpRuleThatSaysTheCfa) {
  EXPECT_EQ(reason(with_sp(cfa_plus(0))), "none");
}
TEST(LowerAmd64, SpRuleThatSpellsTheCfa) {
  EXPECT_EQ(reason(with_sp(reg(rsp, 8))), "none");
}
TEST(LowerAmd64, SpSavedElsewhere) {
  EXPECT_EQ(reason(with_sp(at_cfa(-24))), "stack-pointer-restored-elsewhere");
}
TEST(LowerAmd64, SpOffTheCfa) {
  EXPECT_EQ(reason(with_sp(cfa_plus(8))), "stack-pointer-restored-elsewhere");
}
TEST(LowerAmd64, SpSameValue) {
  EXPECT_EQ(reason(with_sp(cfi::SameValue{})), "stack-pointer-restored-elsewhere");
}
TEST(LowerAmd64, SpUndefined) {
  EXPECT_EQ(reason(with_sp(cfi::Undefined{})), "stack-pointer-restored-elsewhere");
}
TEST(LowerAmd64, SpByAnotherExpression) {
  EXPECT_EQ(reason(with_sp(cfi::OtherExpression{})), "stack-pointer-restored-elsewhere");
}

// The other reasons
TEST(LowerAmd64, CfaUnspecified) {
  EXPECT_EQ(reason(with_cfa(cfi::Unspecified{})), "cfa-unspecified");
}
TEST(LowerAmd64, CfaIsExpression) {
  EXPECT_EQ(reason(with_cfa(cfi::OtherExpression{})), "cfa-is-expression");
}
TEST(LowerAmd64, CfaBaseIsNoRegister) {
  EXPECT_EQ(reason(with_cfa(reg(rip, 8))), "cfa-base-is-no-register");
}
TEST(LowerAmd64, CfaBaseBeyondAControlWord) {
  EXPECT_EQ(reason(with_cfa(reg(1U << 29U, 8))), "cfa-base-is-no-register");
}
TEST(LowerAmd64, OffsetTooLarge) {
  EXPECT_EQ(reason(with_cfa(reg(rsp, std::int64_t{1} << 31U))), "offset-too-large");
}
TEST(LowerAmd64, LargestOffsetFits) {
  EXPECT_EQ(reason(with_cfa(reg(rsp, (std::int64_t{1} << 31U) - 1))), "none");
}
TEST(LowerAmd64, ReturnAddressUnspecified) {
  EXPECT_EQ(reason(with_ra(cfi::Unspecified{})), "return-address-unspecified");
}
TEST(LowerAmd64, ReturnAddressSameValue) {
  EXPECT_EQ(reason(with_ra(cfi::SameValue{})), "return-address-unspecified");
}
TEST(LowerAmd64, ReturnAddressIsExpression) {
  EXPECT_EQ(reason(with_ra(cfi::OtherExpression{})), "return-address-is-expression");
}
TEST(LowerAmd64, FramePointerUndefined) {
  EXPECT_EQ(reason(with_fp(cfi::Undefined{})), "frame-pointer-undefined");
}
TEST(LowerAmd64, FramePointerIsExpression) {
  EXPECT_EQ(reason(with_fp(cfi::OtherExpression{})), "frame-pointer-is-expression");
}
TEST(LowerAmd64, RuleBaseIsNoRegister) {
  EXPECT_EQ(reason(with_fp(at_reg(rip, 8))), "rule-base-is-no-register");
}
TEST(LowerAmd64, ValueIsCfaPlusOffset) {
  cfi::Rules rules = with_cfa(at_reg(rbp, -8));
  rules.frame_pointer = cfa_plus(-16);
  EXPECT_EQ(reason(rules), "value-is-cfa-plus-offset");
}
TEST(LowerAmd64, OpaqueRowsKeepTheirReason) {
  EXPECT_EQ(reason(with_cfa(cfi::Opaque::UnknownInstruction)), "unknown-instruction");
  EXPECT_EQ(reason(with_cfa(cfi::Opaque::CfaRuleWithoutRegister)), "cfa-rule-without-register");
  EXPECT_EQ(reason(with_cfa(cfi::Opaque::ForeignReturnColumn)), "foreign-return-column");
  EXPECT_EQ(reason(with_cfa(cfi::Opaque::ConflictingEntries)), "conflicting-entries");
}
TEST(LowerAmd64, OpaqueRowIsNotOutermost) {
  cfi::Rules rules = with_ra(cfi::Undefined{});
  rules.cfa = cfi::Opaque::ConflictingEntries;
  EXPECT_EQ(reason(rules), "conflicting-entries");
}

TEST(LowerAmd64, PltStub) {
  EXPECT_TRUE(
      std::holds_alternative<cfi::PltStub>(emit::lower(with_cfa(cfi::PltStub{cfi::amd64::rsp, 8, 11}), amd64_v3)));
}
TEST(LowerAmd64, PltStubWithASavedFpIsJustAnExpression) {
  cfi::Rules rules = with_cfa(cfi::PltStub{cfi::amd64::rsp, 8, 11});
  rules.frame_pointer = at_cfa(-16);
  EXPECT_EQ(reason(rules), "cfa-is-expression");
}

TEST(Unrepresentable, EveryReasonHasItsOwnKeyAndSentence) {
  std::vector<std::string_view> seen;
  for (std::size_t i = 0; i < emit::unrepresentable_count; ++i) {
    for (const std::string_view text :
         {emit::key_of(static_cast<Unrepresentable>(i)), emit::sentence_of(static_cast<Unrepresentable>(i))}) {
      EXPECT_FALSE(text.empty()) << i;
      EXPECT_EQ(std::count(seen.begin(), seen.end(), text), 0) << text;
      seen.push_back(text);
    }
  }
}

}  // namespace
}  // namespace sframe_gen::test
