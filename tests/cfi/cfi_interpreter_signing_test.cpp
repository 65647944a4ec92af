// Whether the return address is signed, row by row (DWARF for the Arm 64-bit Architecture, sections 4.1 and 4.4), and
// what else the other machines have of their own.

#include <gtest/gtest.h>

#include "cfi/cfi_builder.hpp"

namespace sframe_gen::test {
namespace {

using cfi::Signing;

/// On aarch64, whose CIEs say CFA = sp + 0 and nothing else.
OneFunction on_aarch64(const Bytes& instructions, const Bytes& initial = {0x0c, 31, 0}) {
  return {instructions, initial.span(), cfi::aarch64::tracked};
}

std::vector<Signing> signing_by_row(const OneFunction& function) {
  std::vector<Signing> result;
  for (const SpelledRow& row : function.rows()) result.push_back(row.rules.signing);
  return result;
}

TEST(CfiInterpreterSigning, NegateTogglesFromPlain) {
  EXPECT_EQ(signing_by_row(on_aarch64({0x44, 0x2d, 0x44, 0x2d})),
            (std::vector{Signing::Plain, Signing::Signed, Signing::Plain}));
}
TEST(CfiInterpreterSigning, NegateIsARowOfItsOwn) {
  const auto rows = on_aarch64({0x44, 0x2d}).rows();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1].pc_offset, 4U);
  EXPECT_EQ(rows[1].rules.cfa, cfi::CfaRule(reg(31, 0)));
}
TEST(CfiInterpreterSigning, NegatedTwiceAtOnePcIsNoChange) {
  EXPECT_EQ(signing_by_row(on_aarch64({0x44, 0x2d, 0x2d})), std::vector{Signing::Plain});
}
TEST(CfiInterpreterSigning, CieMayStartSigned) {
  EXPECT_EQ(signing_by_row(on_aarch64({0x44, 0x2d}, {0x0c, 31, 0, 0x2d})),
            (std::vector{Signing::Signed, Signing::Plain}));
}
TEST(CfiInterpreterSigning, RememberAndRestoreCarryIt) {
  EXPECT_EQ(signing_by_row(on_aarch64({0x2d, 0x0a, 0x44, 0x2d, 0x44, 0x0b})),
            (std::vector{Signing::Signed, Signing::Plain, Signing::Signed}));
}
TEST(CfiInterpreterSigning, RestoreOfItsColumnGoesToTheCie) {
  EXPECT_EQ(signing_by_row(on_aarch64({0x2d, 0x44, 0xe2})), (std::vector{Signing::Signed, Signing::Plain}));
  EXPECT_EQ(signing_by_row(on_aarch64({0x2d, 0x44, 0x06, 34})), (std::vector{Signing::Signed, Signing::Plain}));
  EXPECT_EQ(signing_by_row(on_aarch64({0x2d, 0x44, 0x06, 34}, {0x0c, 31, 0, 0x2d})),
            (std::vector{Signing::Plain, Signing::Signed}));
}

// What SFrame has no word for
TEST(CfiInterpreterSigning, WithThePcIsUnknown) {
  EXPECT_EQ(signing_by_row(on_aarch64({0x44, 0x2c})), (std::vector{Signing::Plain, Signing::Unknown}));
}
TEST(CfiInterpreterSigning, UnknownStaysUnknownWhenNegated) {
  EXPECT_EQ(signing_by_row(on_aarch64({0x2c, 0x44, 0x2d, 0x44, 0x2c})), std::vector{Signing::Unknown});
}
TEST(CfiInterpreterSigning, RestoreStateEndsWhatIsUnknown) {
  EXPECT_EQ(signing_by_row(on_aarch64({0x0a, 0x44, 0x2c, 0x44, 0x0b})),
            (std::vector{Signing::Plain, Signing::Unknown, Signing::Plain}));
}
TEST(CfiInterpreterSigning, AnyRuleForTheColumnIsUnknown) {
  const Bytes rules[]{
      {0x44, 0x16, 34, 1, 0x31},  // val_expression of lit1
      {0x44, 0x10, 34, 2, 0x8f, 0}, {0x44, 0x05, 34, 1}, {0x44, 0xa2, 1},  {0x44, 0x14, 34, 1},
      {0x44, 0x09, 34, 0},          {0x44, 0x07, 34},    {0x44, 0x08, 34},
  };
  for (const Bytes& rule : rules) {
    EXPECT_EQ(signing_by_row(on_aarch64(rule)), (std::vector{Signing::Plain, Signing::Unknown}))
        << "opcode " << std::to_integer<int>(rule.span()[1]);
  }
}

// The opcodes belong to aarch64; SPARC's DW_CFA_GNU_window_save has the number of one.
TEST(CfiInterpreterSigning, HasNoMeaningOnS390x) {
  const Bytes initial{0x0c, 15, 0xa0, 1};
  for (const int opcode : {0x2c, 0x2d}) {
    const OneFunction function({0x46, opcode}, initial.span(), cfi::s390x::tracked);
    EXPECT_EQ(function.last().cfa, cfi::CfaRule(cfi::UnknownReason::UnknownInstruction)) << opcode;
  }
}

// The columns that matter on each machine
TEST(CfiInterpreterAarch64, FollowsX29AndX30) {
  const cfi::Rules rules = on_aarch64({0x44, 0x0e, 32, 0x9d, 4, 0x9e, 3}).last();
  EXPECT_EQ(rules.frame_pointer, cfi::RegisterRule(at_cfa(-32)));
  EXPECT_EQ(rules.return_address, cfi::RegisterRule(at_cfa(-24)));
  EXPECT_EQ(rules.stack_pointer, cfi::RegisterRule(cfi::Unspecified{}));
}
TEST(CfiInterpreterAarch64, RestoresX29AndX30ToNothing) {
  const cfi::Rules rules = on_aarch64({0x9d, 4, 0x9e, 3, 0x44, 0xdd, 0xde}).last();
  EXPECT_EQ(rules.frame_pointer, cfi::RegisterRule(cfi::Unspecified{}));
  EXPECT_EQ(rules.return_address, cfi::RegisterRule(cfi::Unspecified{}));
}
TEST(CfiInterpreterS390x, FollowsR11R14AndR15) {
  const Bytes initial{0x0c, 15, 0xa0, 1};
  const OneFunction function({0x46, 0x8b, 9, 0x8e, 6, 0x8f, 5}, initial.span(), cfi::s390x::tracked);
  const cfi::Rules rules = function.last();
  EXPECT_EQ(rules.frame_pointer, cfi::RegisterRule(at_cfa(-72)));
  EXPECT_EQ(rules.return_address, cfi::RegisterRule(at_cfa(-48)));
  // Without a row that proves what it is
  const Bytes deeper{0x0c, 15, 0xc0, 2};
  EXPECT_EQ(OneFunction({0x46, 0x8f, 5}, deeper.span(), cfi::s390x::tracked).last().stack_pointer,
            cfi::RegisterRule(at_cfa(-40)));
}
TEST(CfiInterpreterS390x, ReadsOperandsInItsByteOrder) {
  const Bytes initial{0x0c, 15, 0xa0, 1};
  OneFunction function({0x03, 0, 0x80, 0x0e, 0xc0, 2}, initial.span(), cfi::s390x::tracked);
  function.table().endian = Endian::Big;
  const auto rows = function.rows();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1].pc_offset, 0x80U);
}

}  // namespace
}  // namespace sframe_gen::test
