// Expressions are told by meaning: every spelling of base + offset, with or without a last load, is one Formula.

#include <gtest/gtest.h>

#include "cfi/cfi_builder.hpp"
#include "cfi/instruction.hpp"

namespace sframe_gen::test {
namespace {

const InputOrigin origin{"file", ".eh_frame"};

cfi::CfaRule cfa(const Bytes& bytes) {
  return cfi::evaluate_cfa_expression({bytes.span(), 0, Endian::Little, origin});
}
std::variant<cfi::Formula, cfi::OtherExpression> value(const Bytes& bytes) {
  return cfi::evaluate_register_expression({bytes.span(), 0, Endian::Little, origin});
}

const cfi::CfaRule other = cfi::OtherExpression{};

TEST(Expression, Breg) {
  EXPECT_EQ(cfa({0x77, 8}), cfi::CfaRule(reg(7, 8)));
}
TEST(Expression, BregWithALongOffset) {
  EXPECT_EQ(cfa({0x77, 0xa0, 0x01}), cfi::CfaRule(reg(7, 160)));
}
TEST(Expression, BregWithAPaddedOffset) {
  EXPECT_EQ(cfa({0x77, 0x88, 0x80, 0x00}), cfi::CfaRule(reg(7, 8)));
}
TEST(Expression, BregWithANegativeOffset) {
  EXPECT_EQ(cfa({0x76, 0x70}), cfi::CfaRule(reg(6, -16)));
}
TEST(Expression, Bregx) {
  EXPECT_EQ(cfa({0x92, 40, 8}), cfi::CfaRule(reg(40, 8)));
}
TEST(Expression, Deref) {
  EXPECT_EQ(cfa({0x77, 0xa0, 0x01, 0x06}), cfi::CfaRule(at_reg(7, 160)));
}
TEST(Expression, DerefSizeOfAWord) {
  EXPECT_EQ(cfa({0x77, 0, 0x94, 8}), cfi::CfaRule(at_reg(7, 0)));
}
TEST(Expression, DerefSizeOfLess) {
  EXPECT_EQ(cfa({0x77, 0, 0x94, 4}), other);
}
TEST(Expression, PlusUconst) {
  EXPECT_EQ(cfa({0x77, 8, 0x23, 0x80, 0x01}), cfi::CfaRule(reg(7, 136)));
}
TEST(Expression, PlusUconstBeforeDeref) {
  EXPECT_EQ(cfa({0x77, 8, 0x23, 8, 0x06}), cfi::CfaRule(at_reg(7, 16)));
}
TEST(Expression, LiteralPlus) {
  EXPECT_EQ(cfa({0x77, 8, 0x38, 0x22}), cfi::CfaRule(reg(7, 16)));
}
TEST(Expression, PlusEitherWayRound) {
  EXPECT_EQ(cfa({0x38, 0x77, 8, 0x22}), cfi::CfaRule(reg(7, 16)));
}
TEST(Expression, Minus) {
  EXPECT_EQ(cfa({0x77, 8, 0x40, 0x1c}), cfi::CfaRule(reg(7, -8)));
}
TEST(Expression, ConstantMinusRegisterIsNoFormula) {
  EXPECT_EQ(cfa({0x38, 0x77, 8, 0x1c}), other);
}
TEST(Expression, Const1u) {
  EXPECT_EQ(cfa({0x77, 0, 0x08, 0xf0, 0x22}), cfi::CfaRule(reg(7, 240)));
}
TEST(Expression, Const1s) {
  EXPECT_EQ(cfa({0x77, 0, 0x09, 0xf0, 0x22}), cfi::CfaRule(reg(7, -16)));
}
TEST(Expression, Const2u) {
  EXPECT_EQ(cfa({0x77, 0, 0x0a, 0x00, 0xf0, 0x22}), cfi::CfaRule(reg(7, 0xf000)));
}
TEST(Expression, Const2s) {
  EXPECT_EQ(cfa({0x77, 0, 0x0b, 0xfe, 0xff, 0x22}), cfi::CfaRule(reg(7, -2)));
}
TEST(Expression, Const8u) {
  EXPECT_EQ(cfa({0x77, 0, 0x0e, 16, 0, 0, 0, 1, 0, 0, 0, 0x22}), cfi::CfaRule(reg(7, 0x100000010)));
}
TEST(Expression, Const4u) {
  EXPECT_EQ(cfa({0x77, 0, 0x0c, 0, 0, 0, 0x80, 0x22}), cfi::CfaRule(reg(7, 0x80000000)));
}
TEST(Expression, Const4s) {
  EXPECT_EQ(cfa({0x77, 0, 0x0d, 0xfc, 0xff, 0xff, 0xff, 0x22}), cfi::CfaRule(reg(7, -4)));
}
TEST(Expression, Const8s) {
  EXPECT_EQ(cfa({0x77, 0, 0x0f, 0xf8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x22}), cfi::CfaRule(reg(7, -8)));
}
TEST(Expression, Constu) {
  EXPECT_EQ(cfa({0x77, 0, 0x10, 0x80, 0x01, 0x22}), cfi::CfaRule(reg(7, 128)));
}
TEST(Expression, Consts) {
  EXPECT_EQ(cfa({0x77, 0, 0x11, 0x70, 0x22}), cfi::CfaRule(reg(7, -16)));
}
TEST(Expression, NopDupDropSwap) {
  EXPECT_EQ(cfa({0x96, 0x77, 8, 0x12, 0x13, 0x38, 0x16, 0x22}), cfi::CfaRule(reg(7, 16)));
}
TEST(Expression, AddAfterDerefIsNoFormula) {
  EXPECT_EQ(cfa({0x77, 40, 0x06, 0x23, 8}), other);
}
TEST(Expression, AddOfZeroAfterDerefChangesNothing) {
  EXPECT_EQ(cfa({0x77, 40, 0x06, 0x23, 0}), cfi::CfaRule(at_reg(7, 40)));
}
TEST(Expression, TwoDerefs) {
  EXPECT_EQ(cfa({0x77, 40, 0x06, 0x06}), other);
}
TEST(Expression, TwoRegisters) {
  EXPECT_EQ(cfa({0x77, 0, 0x76, 0, 0x22}), other);
}
TEST(Expression, ConstantAlone) {
  EXPECT_EQ(cfa({0x38}), other);
}
TEST(Expression, Empty) {
  EXPECT_EQ(cfa({}), other);
}
TEST(Expression, StackRunsOut) {
  EXPECT_EQ(cfa({0x22}), other);
}
TEST(Expression, UnknownOperation) {
  EXPECT_EQ(cfa({0x77, 0, 0x28, 0, 0}), other);
}
TEST(Expression, TruncatedIsMalformed) {
  EXPECT_THROW(cfa({0x0c, 1, 2}), MalformedInput);
}

TEST(Expression, OfARegisterStartsFromTheCfa) {
  EXPECT_EQ(std::get<cfi::Formula>(value({})), cfa_plus(0));
  EXPECT_EQ(std::get<cfi::Formula>(value({0x23, 16})), cfa_plus(16));
  EXPECT_EQ(std::get<cfi::Formula>(value({0x40, 0x1c, 0x06})), at_cfa(-16));
}

// breg7 8; breg16 0; lit15; and; litN; ge; lit3; shl; plus
Bytes plt(int threshold) {
  return {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x30 + threshold, 0x2a, 0x33, 0x24, 0x22};
}

TEST(PltExpression, IsKnownWithAnyThreshold) {
  EXPECT_EQ(cfa(plt(11)), cfi::CfaRule(cfi::PltStub{cfi::amd64::rsp, 8, 11}));
  EXPECT_EQ(cfa(plt(9)), cfi::CfaRule(cfi::PltStub{cfi::amd64::rsp, 8, 9}));
}
TEST(PltExpression, ThresholdOutsideAnEntryIsNot) {
  EXPECT_EQ(cfa(plt(0)), other);
  EXPECT_EQ(cfa(plt(16)), other);
}
TEST(PltExpression, OtherMaskIsNot) {
  EXPECT_EQ(cfa({0x77, 8, 0x80, 0, 0x37, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22}), other);
}
TEST(PltExpression, OtherShiftIsNot) {
  EXPECT_EQ(cfa({0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x34, 0x24, 0x22}), other);
}

}  // namespace
}  // namespace sframe_gen::test
