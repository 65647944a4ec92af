// Each call frame instruction, one test: bytes in, rules out (DWARF 5, section 6.4.2; opcodes of section 7.24).

#include <gtest/gtest.h>

#include <algorithm>

#include "cfi/cfi_builder.hpp"

namespace sframe_gen::test {
namespace {

using cfi::OtherExpression;
using cfi::RegisterRule;
using cfi::SameValue;
using cfi::Undefined;
using cfi::UnknownReason;
using cfi::Unspecified;

cfi::CfaRule cfa_after(const Bytes& instructions) {
  return OneFunction(instructions).last().cfa;
}
RegisterRule fp_after(const Bytes& instructions) {
  return OneFunction(instructions).last().frame_pointer;
}
RegisterRule ra_after(const Bytes& instructions) {
  return OneFunction(instructions).last().return_address;
}
RegisterRule sp_after(const Bytes& instructions) {
  return OneFunction(instructions).last().stack_pointer;
}

/// Offsets at which rows start.
std::vector<std::uint64_t> starts(const OneFunction& function) {
  std::vector<std::uint64_t> offsets;
  for (const SpelledRow& row : function.rows()) offsets.push_back(row.pc_offset);
  return offsets;
}

bool is_malformed(const OneFunction& function) {
  return function.rows() == std::vector<SpelledRow>{{0, {UnknownReason::MalformedFde, {}, {}, {}}}};
}

TEST(CfiInterpreter, CieAloneGivesOneRow) {
  const auto rows = OneFunction({}).rows();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].pc_offset, 0U);
  EXPECT_EQ(rows[0].rules, (cfi::Rules{reg(7, 8), Unspecified{}, Unspecified{}, at_cfa(-8)}));
}

// CFA
TEST(CfiInterpreter, DefCfa) {
  EXPECT_EQ(cfa_after({0x0c, 6, 16}), cfi::CfaRule(reg(6, 16)));
}
TEST(CfiInterpreter, DefCfaSf) {
  EXPECT_EQ(cfa_after({0x12, 7, 0x7e}), cfi::CfaRule(reg(7, 16)));
}  // -2 * -8
TEST(CfiInterpreter, DefCfaRegister) {
  EXPECT_EQ(cfa_after({0x0d, 6}), cfi::CfaRule(reg(6, 8)));
}
TEST(CfiInterpreter, DefCfaOffset) {
  EXPECT_EQ(cfa_after({0x0e, 0x80, 0x01}), cfi::CfaRule(reg(7, 128)));
}
TEST(CfiInterpreter, DefCfaOffsetSf) {
  EXPECT_EQ(cfa_after({0x13, 0x7d}), cfi::CfaRule(reg(7, 24)));
}
TEST(CfiInterpreter, DefCfaExpressionOfRegisterIsThatRegister) {
  EXPECT_EQ(cfa_after({0x0f, 2, 0x76, 16}), cfi::CfaRule(reg(6, 16)));
}
TEST(CfiInterpreter, DefCfaExpressionWithDeref) {
  EXPECT_EQ(cfa_after({0x0f, 3, 0x76, 0x78, 0x06}), cfi::CfaRule(at_reg(6, -8)));
}
TEST(CfiInterpreter, DefCfaExpressionBeyondFormulas) {
  EXPECT_EQ(cfa_after({0x0f, 5, 0x77, 40, 0x06, 0x23, 8}), cfi::CfaRule(OtherExpression{}));
}
TEST(CfiInterpreter, DefCfaOffsetHasNothingToChangeAfterAnExpression) {
  EXPECT_EQ(cfa_after({0x0f, 2, 0x76, 16, 0x0e, 24}), cfi::CfaRule(UnknownReason::CfaRuleWithoutRegister));
}
TEST(CfiInterpreter, DefCfaRegisterHasNothingToChangeAfterAnExpression) {
  EXPECT_EQ(cfa_after({0x0f, 2, 0x76, 16, 0x0d, 7}), cfi::CfaRule(UnknownReason::CfaRuleWithoutRegister));
}
TEST(CfiInterpreter, DefCfaMendsTheRuleAgain) {
  EXPECT_EQ(cfa_after({0x0f, 2, 0x76, 16, 0x0e, 24, 0x0c, 7, 8}), cfi::CfaRule(reg(7, 8)));
}

// Register rules
TEST(CfiInterpreter, Offset) {
  EXPECT_EQ(fp_after({0x86, 2}), RegisterRule(at_cfa(-16)));
}
TEST(CfiInterpreter, OffsetExtended) {
  EXPECT_EQ(fp_after({0x05, 6, 2}), RegisterRule(at_cfa(-16)));
}
TEST(CfiInterpreter, OffsetExtendedSf) {
  EXPECT_EQ(fp_after({0x11, 6, 0x7e}), RegisterRule(at_cfa(16)));
}
TEST(CfiInterpreter, GnuNegativeOffsetExtended) {
  EXPECT_EQ(fp_after({0x2f, 6, 2}), RegisterRule(at_cfa(16)));
}
TEST(CfiInterpreter, ValOffset) {
  EXPECT_EQ(fp_after({0x14, 6, 2}), RegisterRule(cfa_plus(-16)));
}
TEST(CfiInterpreter, ValOffsetSf) {
  EXPECT_EQ(sp_after({0x15, 7, 0x7f}), RegisterRule(cfa_plus(8)));
}
TEST(CfiInterpreter, Register) {
  EXPECT_EQ(ra_after({0x09, 16, 3}), RegisterRule(reg(3, 0)));
}
TEST(CfiInterpreter, Undefined) {
  EXPECT_EQ(ra_after({0x07, 16}), RegisterRule(Undefined{}));
}
TEST(CfiInterpreter, SameValue) {
  EXPECT_EQ(fp_after({0x86, 2, 0x08, 6}), RegisterRule(SameValue{}));
}
TEST(CfiInterpreter, Expression) {
  EXPECT_EQ(fp_after({0x10, 6, 2, 0x76, 0}), RegisterRule(at_reg(6, 0)));
}
TEST(CfiInterpreter, ExpressionStartsFromTheCfa) {
  EXPECT_EQ(fp_after({0x10, 6, 2, 0x23, 24}), RegisterRule(at_cfa(24)));
}
TEST(CfiInterpreter, ExpressionThatLoadsIsTwoLoads) {
  EXPECT_EQ(fp_after({0x10, 6, 3, 0x76, 0, 0x06}), RegisterRule(OtherExpression{}));
}
TEST(CfiInterpreter, ValExpression) {
  EXPECT_EQ(ra_after({0x16, 16, 2, 0x73, 8}), RegisterRule(reg(3, 8)));
}
TEST(CfiInterpreter, ValExpressionThatLoads) {
  EXPECT_EQ(ra_after({0x16, 16, 3, 0x77, 0, 0x06}), RegisterRule(at_reg(7, 0)));
}
TEST(CfiInterpreter, RestoreGoesToTheCiesRule) {
  EXPECT_EQ(ra_after({0x07, 16, 0xd0}), RegisterRule(at_cfa(-8)));
}
// The same instruction behind the same rules, in functions whose CIEs say something else of the register.
TEST(CfiInterpreter, RestoreOfOneCieIsNotThatOfAnother) {
  OneFunction function({0x86, 2, 0x41, 0xc6});
  const std::vector<std::byte> saved{std::byte{0x0c}, std::byte{7},    std::byte{8}, std::byte{0x90},
                                     std::byte{1},    std::byte{0x86}, std::byte{5}};
  cfi::FrameTable& table = function.table();
  cfi::Cie other = table.cies[0];
  other.initial_instructions = saved;
  table.cies.push_back(other);
  table.fdes.push_back(table.fdes[0]);
  table.fdes[1].cie_index = 1;
  cfi::RuleTable rules;
  cfi::CfiInterpreter interpreter(table, cfi::amd64::tracked, rules);
  std::vector<cfi::Row> rows;
  for (const int round : {1, 2}) {
    interpreter.run(table.fdes[0], rows);
    EXPECT_EQ(rules[rows.back().rule].frame_pointer, RegisterRule(Unspecified{})) << round;
    interpreter.run(table.fdes[1], rows);
    EXPECT_EQ(rules[rows.back().rule].frame_pointer, RegisterRule(at_cfa(-40))) << round;
  }
}
// Steps of one to three bytes are looked up by their bytes when they come again, with padding behind them or none.
TEST(CfiInterpreter, ASecondRunGivesTheSameRows) {
  const Bytes cases[]{{0x0e, 16, 0x41, 0x86, 2, 0x42, 0xc6, 0x43, 0x0a, 0x0e, 24, 0x41, 0x0b, 0x41, 0x0e, 32},
                      {0x0e, 0x90, 1, 0x41, 0x0e, 0x90, 2, 0x41, 0x0e, 0x90, 0x81, 1, 0x41, 0x86, 0x82, 1, 0, 0, 0},
                      {0x0c, 6, 16, 0x41, 0x0c, 7, 0x88, 1, 0x41, 0x0d, 6, 0x41, 0x09, 6, 3, 0x41, 0x8c, 3, 0, 0}};
  for (const Bytes& instructions : cases) {
    const OneFunction function(instructions);
    cfi::RuleTable rules;
    cfi::CfiInterpreter interpreter(function.table(), cfi::amd64::tracked, rules);
    std::vector<cfi::Row> first, second;
    interpreter.run(function.fde(), first);
    interpreter.run(function.fde(), second);
    EXPECT_EQ(first, second);
    EXPECT_GE(first.size(), 4U);
  }
}
TEST(CfiInterpreter, StepsThatDifferInTheLastByteDiffer) {
  const std::vector<SpelledRow> rows =
      OneFunction({0x0e, 0x90, 1, 0x41, 0x0e, 0x90, 2, 0x41, 0x0e, 0x90, 1, 0x41, 0x0e, 0x90, 2, 0, 0}).rows();
  ASSERT_EQ(rows.size(), 4U);
  for (std::size_t i = 0; i < rows.size(); ++i)
    EXPECT_EQ(rows[i].rules.cfa, cfi::CfaRule(reg(7, i % 2 == 0 ? 144 : 272)));
}
TEST(CfiInterpreter, RestoreExtended) {
  EXPECT_EQ(fp_after({0x86, 2, 0x06, 6}), RegisterRule(Unspecified{}));
}
TEST(CfiInterpreter, RestoreTakesTheCieNotTheFirstRow) {
  // The first row has rbp saved already, as in gcc's .cold parts; the CIE does not.
  EXPECT_EQ(fp_after({0x86, 2, 0x41, 0xc6}), RegisterRule(Unspecified{}));
}
TEST(CfiInterpreter, OtherRegistersAreIgnored) {
  EXPECT_EQ(starts(OneFunction({0x41, 0x83, 3, 0x41, 0x8c, 4})), (std::vector<std::uint64_t>{0}));
}
TEST(CfiInterpreter, NumbersOfAnyLength) {
  EXPECT_EQ(cfa_after({0x0e, 0x10}), cfi::CfaRule(reg(7, 16)));
  EXPECT_EQ(cfa_after({0x0e, 0x90, 0x00}), cfi::CfaRule(reg(7, 16)));
  EXPECT_EQ(cfa_after({0x0e, 0x90, 0x80, 0x80, 0x00}), cfi::CfaRule(reg(7, 16)));
  EXPECT_EQ(cfa_after({0x83, 0x82, 0x00, 0x0e, 0x10}), cfi::CfaRule(reg(7, 16)));
  EXPECT_EQ(cfa_after({0x83, 0x82, 0x80, 0x80, 0x00, 0x0e, 0x10}), cfi::CfaRule(reg(7, 16)));
}
TEST(CfiInterpreter, GnuArgsSizeChangesNothing) {
  EXPECT_EQ(starts(OneFunction({0x41, 0x2e, 0x80, 0x01})), (std::vector<std::uint64_t>{0}));
}

// State
TEST(CfiInterpreter, RememberAndRestoreNest) {
  const auto rows = OneFunction({0x0a, 0x0e, 16, 0x41, 0x0a, 0x0e, 24, 0x41, 0x0b, 0x41, 0x0b}).rows();
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[1].rules.cfa, cfi::CfaRule(reg(7, 24)));
  EXPECT_EQ(rows[2].rules.cfa, cfi::CfaRule(reg(7, 16)));
  EXPECT_EQ(rows[3].rules.cfa, cfi::CfaRule(reg(7, 8)));
}
TEST(CfiInterpreter, RestoreStateRestoresTheCfaKindToo) {
  EXPECT_EQ(cfa_after({0x0a, 0x0f, 2, 0x76, 16, 0x0b, 0x0e, 32}), cfi::CfaRule(reg(7, 32)));
}

// Locations
TEST(CfiInterpreter, AdvanceLoc) {
  EXPECT_EQ(starts(OneFunction({0x44, 0x0e, 16})), (std::vector<std::uint64_t>{0, 4}));
}
TEST(CfiInterpreter, AdvanceLoc1) {
  EXPECT_EQ(starts(OneFunction({0x02, 0x90, 0x0e, 16})), (std::vector<std::uint64_t>{0, 0x90}));
}
TEST(CfiInterpreter, AdvanceLoc2) {
  EXPECT_EQ(starts(OneFunction({0x03, 0x80, 0x00, 0x0e, 16})), (std::vector<std::uint64_t>{0, 0x80}));
}
TEST(CfiInterpreter, AdvanceLoc4) {
  EXPECT_EQ(starts(OneFunction({0x04, 0x10, 0, 0, 0, 0x0e, 16})), (std::vector<std::uint64_t>{0, 0x10}));
}
TEST(CfiInterpreter, MipsAdvanceLoc8) {
  EXPECT_EQ(starts(OneFunction({0x1d, 0x10, 0, 0, 0, 0, 0, 0, 0, 0x0e, 16})), (std::vector<std::uint64_t>{0, 0x10}));
}
TEST(CfiInterpreter, AdvancePastTheEndOfAddresses) {
  OneFunction one_step({0x42, 0x0e, 16});
  one_step.cie().code_alignment = std::uint64_t{1} << 63U;
  EXPECT_TRUE(is_malformed(one_step));
  OneFunction two_steps({0x41, 0x0e, 16, 0x41, 0x0e, 24});
  two_steps.cie().code_alignment = std::uint64_t{1} << 63U;
  EXPECT_TRUE(is_malformed(two_steps));
}
TEST(CfiInterpreter, SetLocAbsolute) {
  EXPECT_EQ(starts(OneFunction({0x01, 0x20, 0x10, 0, 0, 0, 0, 0, 0, 0x0e, 16})), (std::vector<std::uint64_t>{0, 0x20}));
}
TEST(CfiInterpreter, SetLocPcRelative) {
  // The operand stands at offset 6 of the section at 0x500000: 0x1030 - 0x500006.
  OneFunction function({0x01, 0x2a, 0x10, 0xb0, 0xff, 0x0e, 16});
  function.cie().pointer_encoding = 0x1b;
  EXPECT_EQ(starts(function), (std::vector<std::uint64_t>{0, 0x30}));
}
TEST(CfiInterpreter, CodeAlignmentScalesAdvances) {
  OneFunction function({0x44, 0x0e, 16});
  function.cie().code_alignment = 4;
  EXPECT_EQ(starts(function), (std::vector<std::uint64_t>{0, 16}));
}
TEST(CfiInterpreter, SeveralInstructionsAtOnePcGiveOneRow) {
  EXPECT_EQ(OneFunction({0x41, 0x0e, 16, 0x86, 2}).rows().size(), 2U);
}
TEST(CfiInterpreter, EqualNeighboursMerge) {
  EXPECT_EQ(OneFunction({0x41, 0x0e, 8, 0x41, 0x0a, 0x41, 0x0b}).rows().size(), 1U);
}
TEST(CfiInterpreter, ChangeAndBackLeavesTwoChanges) {
  EXPECT_EQ(starts(OneFunction({0x41, 0x0e, 16, 0x41, 0x0e, 8})), (std::vector<std::uint64_t>{0, 1, 2}));
}
TEST(CfiInterpreter, RowsAtOrPastTheEndAreDropped) {
  OneFunction function({0x50, 0x0e, 16, 0x50, 0x0e, 24, 0x50, 0x0e, 32});
  function.fde().function_size = 0x20;
  EXPECT_EQ(starts(function), (std::vector<std::uint64_t>{0, 0x10}));
}

// What cannot be known
// Those of a piece of a larger FDE.
TEST(CfiInterpreter, RowsOfSomePcs) {
  OneFunction function({0x42, 0x0e, 16, 0x04, 0xf0, 0xff, 0xff, 0xff, 0x0e, 24, 0x48, 0x0e, 32, 0x48, 0x0e, 40});
  function.fde().function_size = std::uint64_t{1} << 33U;
  const auto rows_of = [&](Range pcs) {
    cfi::RuleTable rules;
    std::vector<cfi::Row> rows;
    cfi::CfiInterpreter(function.table(), cfi::amd64::tracked, rules).run(function.fde(), pcs, rows);
    std::vector<std::pair<std::uint64_t, cfi::CfaRule>> result;
    for (const cfi::Row& row : rows) result.emplace_back(row.pc_offset, rules[row.rule].cfa);
    return result;
  };
  using Rows = std::vector<std::pair<std::uint64_t, cfi::CfaRule>>;
  constexpr std::uint64_t most = UINT32_MAX;
  EXPECT_EQ(rows_of({0, most}),
            (Rows{{0, reg(7, 8)}, {2, reg(7, 16)}, {0xfffffff2, reg(7, 24)}, {0xfffffffa, reg(7, 32)}}));
  EXPECT_EQ(rows_of({1, 1 + most}),
            (Rows{{0, reg(7, 8)}, {1, reg(7, 16)}, {0xfffffff1, reg(7, 24)}, {0xfffffff9, reg(7, 32)}}));
  EXPECT_EQ(rows_of({most, 2 * most}), (Rows{{0, reg(7, 32)}, {3, reg(7, 40)}}));
  EXPECT_EQ(rows_of({0xfffffffa, 0xfffffffa + most}), (Rows{{0, reg(7, 32)}, {8, reg(7, 40)}}));
  EXPECT_EQ(rows_of({1, 2}), (Rows{{0, reg(7, 8)}}));
  EXPECT_EQ(rows_of({2, 0xfffffff2}), (Rows{{0, reg(7, 16)}}));
}

TEST(CfiInterpreter, UnknownInstructionOfTheCieHidesTheFunction) {
  // A new CFA cannot bring back what the rest of the CIE says.
  const Bytes initial{0x0c, 7, 8, 0x90, 1, 0x2d, 0x07, 6};
  const auto rows = OneFunction({0x0c, 7, 16, 0x41, 0x0e, 24}, initial.span()).rows();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0], (SpelledRow{0, {UnknownReason::UnknownInstruction, {}, {}, {}}}));
}

TEST(CfiInterpreter, RestoreOfAColumnOfOursInTheCieHidesTheFunction) {
  // To what the CIE says, it says; readers disagree about what that is.
  for (const std::initializer_list<int> restore : {std::initializer_list<int>{0xc6}, {0x06, 16}}) {
    std::vector<std::byte> initial = OneFunction::usual_start;
    for (const int byte : restore) initial.push_back(static_cast<std::byte>(byte));
    const auto rows = OneFunction({0x0c, 7, 16, 0x41, 0x0e, 24}, initial).rows();
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0], (SpelledRow{0, {UnknownReason::UnknownInstruction, {}, {}, {}}}));
  }
}
TEST(CfiInterpreter, RestoreOfAnyOtherColumnInTheCieCostsNothing) {
  for (const std::initializer_list<int> restore : {std::initializer_list<int>{0xc3}, {0x06, 3}}) {
    std::vector<std::byte> initial = OneFunction::usual_start;
    for (const int byte : restore) initial.push_back(static_cast<std::byte>(byte));
    EXPECT_EQ(OneFunction({0x41, 0x0e, 16}, initial).rows(), OneFunction({0x41, 0x0e, 16}).rows());
  }
}
TEST(CfiInterpreter, RememberInTheCieCostsNothing) {
  std::vector<std::byte> initial = OneFunction::usual_start;
  initial.push_back(std::byte{0x0a});
  EXPECT_EQ(OneFunction({0x41, 0x0e, 16}, initial).rows(), OneFunction({0x41, 0x0e, 16}).rows());
  // libgcc and gdb keep one stack for both.
  EXPECT_EQ(OneFunction({0x0e, 16, 0x41, 0x0b}, initial).last().cfa, cfi::CfaRule(reg(7, 8)));
}

TEST(CfiInterpreter, UnknownInstructionHidesTheRest) {
  const auto rows = OneFunction({0x41, 0x3f, 0x41, 0x0e, 16}).rows();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1].rules.cfa, cfi::CfaRule(UnknownReason::UnknownInstruction));
}
TEST(CfiInterpreter, NegateRaStateHasNoMeaningOnAmd64) {
  EXPECT_EQ(cfa_after({0x41, 0x2d}), cfi::CfaRule(UnknownReason::UnknownInstruction));
}
TEST(CfiInterpreter, ForeignReturnColumn) {
  OneFunction function({});
  function.cie().return_address = cfi::DwarfRegister{3};
  EXPECT_EQ(function.last().cfa, cfi::CfaRule(UnknownReason::ForeignReturnColumn));
}

// Malformed: the function is hidden, rows before the fault too
TEST(CfiInterpreter, TruncatedOperand) {
  EXPECT_TRUE(is_malformed(OneFunction({0x41, 0x0c, 7})));
}
TEST(CfiInterpreter, UsualInstructionsThatAreCutOff) {
  for (const Bytes& instructions :
       {Bytes{0x02}, Bytes{0x03}, Bytes{0x03, 1}, Bytes{0x83}, Bytes{0x83, 0x80}, Bytes{0x0e}, Bytes{0x0e, 0x80},
        Bytes{0x0e, 0x80, 0x80}, Bytes{0x0c, 7}, Bytes{0x2e}})
    EXPECT_TRUE(is_malformed(OneFunction(instructions)));
}
TEST(CfiInterpreter, InstructionsThatAreCutOffBehindZeros) {
  for (const Bytes& instructions :
       {Bytes{0x41, 0x41, 0x41, 0x41, 0x41, 0x41, 0x41, 0x02}, Bytes{0x41, 0x41, 0x41, 0x41, 0x41, 0x41, 0x03, 0},
        Bytes{0x41, 0x41, 0x41, 0x41, 0x04, 0, 0, 0}, Bytes{0x41, 0x41, 0x41, 0x41, 0x41, 0x41, 0x0c, 0},
        Bytes{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x0e}})
    EXPECT_TRUE(is_malformed(OneFunction(instructions)));
}
TEST(CfiInterpreter, NumbersThatEndInZeroAreNoNops) {
  EXPECT_EQ(cfa_after({0x41, 0x0e, 16, 0x41, 0x0e, 24, 0x41, 0x0e, 0}), cfi::CfaRule(reg(7, 0)));
  EXPECT_EQ(cfa_after({0x41, 0x0e, 16, 0x41, 0x0e, 0, 0, 0, 0, 0, 0, 0}), cfi::CfaRule(reg(7, 0)));
  EXPECT_EQ(starts(OneFunction({0x0e, 16, 0x03, 5, 0, 0x0e, 24, 0, 0, 0})), (std::vector<std::uint64_t>{0, 5}));
  EXPECT_EQ(starts(OneFunction({0x41, 0x0e, 16, 0x41, 0x0e, 24, 0x04, 5, 0, 0, 0})),
            (std::vector<std::uint64_t>{0, 1, 2}));
}
// Which steps are known is kept by few bits.
TEST(CfiInterpreter, FunctionsOfMoreCiesThanStepsAreKeptFor) {
  const Bytes instructions{0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x0a, 0x41, 0x0c, 7, 8, 0x41, 0x0b};
  const auto expected = OneFunction(instructions).rows();
  ASSERT_EQ(expected.size(), 5U);
  OneFunction function(instructions);
  const cfi::Cie cie = function.cie();
  function.table().cies.resize((std::size_t{1} << 19U) + 1, cie);
  for (const std::uint32_t index : {(1U << 19U) - 1, 1U << 19U}) {
    function.fde().cie_index = index;
    EXPECT_EQ(function.rows(), expected);
  }
}
TEST(CfiInterpreter, ExpressionBeyondTheInstructions) {
  EXPECT_TRUE(is_malformed(OneFunction({0x41, 0x0f, 9, 0x77})));
}
TEST(CfiInterpreter, TruncatedExpression) {
  EXPECT_TRUE(is_malformed(OneFunction({0x41, 0x0f, 1, 0x77})));
}
TEST(CfiInterpreter, RestoreStateWithoutRemember) {
  EXPECT_TRUE(is_malformed(OneFunction({0x41, 0x0b})));
}
TEST(CfiInterpreter, RememberStateTooDeep) {
  const std::vector<std::byte> initial = OneFunction::usual_start;
  std::vector<std::byte> deep(initial);
  deep.resize(deep.size() + 4096, std::byte{0x0a});
  EXPECT_EQ(OneFunction({}, deep).rows(), OneFunction({}).rows());
  EXPECT_TRUE(is_malformed(OneFunction({0x0a}, deep)));
}
TEST(CfiInterpreter, LongInitialInstructions) {
  std::vector<std::byte> nops(OneFunction::usual_start);
  nops.resize(8192);
  EXPECT_EQ(OneFunction({}, nops).rows(), OneFunction({}).rows());
  nops.resize(8193);
  EXPECT_TRUE(is_malformed(OneFunction({}, nops)));
}
// Each rule takes many times its bytes. The limit counts different ones, and no others.
TEST(CfiInterpreter, MoreRulesThanAnyFunctionHas) {
  std::vector<std::byte> offsets;
  const auto add = [&](std::uint32_t offset) {
    for (const std::uint32_t byte : {0x0eU, (offset & 0x7fU) | 0x80U, (offset >> 7U & 0x7fU) | 0x80U, offset >> 14U})
      offsets.push_back(static_cast<std::byte>(byte));
  };
  for (std::uint32_t i = 0; i < cfi::CfiInterpreter::most_rules; ++i) add(i % 1000);
  EXPECT_FALSE(is_malformed(OneFunction(Bytes(offsets))));
  offsets.clear();
  for (std::uint32_t i = 0; i < cfi::CfiInterpreter::most_rules; ++i) add(i);
  EXPECT_TRUE(is_malformed(OneFunction(Bytes(offsets))));
}
TEST(CfiInterpreter, SetLocBackwards) {
  EXPECT_TRUE(is_malformed(OneFunction({0x44, 0x01, 0, 0x10, 0, 0, 0, 0, 0, 0})));
}
TEST(CfiInterpreter, RegisterBeyondAnyMachine) {
  EXPECT_TRUE(is_malformed(OneFunction({0x07, 0x80, 0x80, 0x80, 0x80, 0x10})));
}
TEST(CfiInterpreter, AdvanceInTheCie) {
  const Bytes initial{0x41};
  EXPECT_TRUE(is_malformed(OneFunction({0x0c, 7, 8}, initial.span())));
}

// Offsets count modulo 2^64
TEST(CfiInterpreter, NegativeOffsetWrittenUnsigned) {
  // As llvm-mc writes .cfi_def_cfa_offset -8.
  EXPECT_EQ(cfa_after({0x0e, 0xf8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}), cfi::CfaRule(reg(7, -8)));
}
TEST(CfiInterpreter, FactoredOffsetWrapsAround) {
  // (2^64 - 2) * -8 = 16
  EXPECT_EQ(fp_after({0x05, 6, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}), RegisterRule(at_cfa(16)));
  EXPECT_EQ(fp_after({0x2f, 6, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}), RegisterRule(at_cfa(-16)));
}
TEST(CfiInterpreter, OffsetBeyond64BitsIsMalformed) {
  EXPECT_TRUE(is_malformed(OneFunction({0x0e, 0xf8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x03})));
}

// s390x: the caller's SP, proven (the CFA of an entry is r15 + 160; r15 is kept in f4, DWARF register 18)
class StackPointerProof : public testing::Test {
 protected:
  static std::vector<SpelledRow> rows(const Bytes& instructions, bool signal_frame = false) {
    const Bytes initial{0x0c, 15, 0xa0, 0x01};
    OneFunction function(instructions, initial.span(), cfi::s390x::tracked);
    function.cie().signal_frame = signal_frame;
    return function.rows();
  }
  static bool is_proven(const std::vector<SpelledRow>& rows) {
    return std::ranges::all_of(
        rows, [](const SpelledRow& row) { return std::holds_alternative<Unspecified>(row.rules.stack_pointer); });
  }
};

TEST_F(StackPointerProof, InARegisterBehindAnEntry) {
  const auto proven = rows({0x42, 0x09, 15, 18, 0x42, 0x0e, 0xc0, 0x02, 0x42, 0xcf, 0x42, 0x0e, 0xa0, 0x01});
  EXPECT_TRUE(is_proven(proven));
  // Rows that differed in nothing else are one.
  ASSERT_EQ(proven.size(), 3U);
  EXPECT_EQ(proven[1].pc_offset, 4U);
  EXPECT_EQ(proven[1].rules.cfa, cfi::CfaRule(reg(15, 320)));
}
TEST_F(StackPointerProof, InASlotOfItsOwn) {
  EXPECT_TRUE(is_proven(rows({0x42, 0x8f, 4, 0x0e, 0xc0, 0x02})));
}
TEST_F(StackPointerProof, ByTheFramePointerToo) {
  EXPECT_TRUE(is_proven(rows({0x42, 0x09, 15, 18, 0x0d, 11})));
}
TEST_F(StackPointerProof, NotWithoutAnEntry) {
  EXPECT_FALSE(is_proven(rows({0x09, 15, 18, 0x0e, 0xc0, 0x02})));
  EXPECT_FALSE(is_proven(rows({0x0e, 0xc0, 0x02, 0x42, 0x09, 15, 18})));
}
TEST_F(StackPointerProof, NotWhereTheCfaCountsFromAnythingElse) {
  EXPECT_FALSE(is_proven(rows({0x42, 0x09, 15, 18, 0x42, 0x0d, 2})));
  EXPECT_FALSE(is_proven(rows({0x42, 0x09, 15, 18, 0x42, 0x0f, 3, 0x7f, 8, 0x06})));
}
TEST_F(StackPointerProof, NotOfASignalFrame) {
  EXPECT_FALSE(is_proven(rows({0x42, 0x09, 15, 18}, true)));
}
// The same rules, said by an expression: verify/proofs does not follow it.
TEST_F(StackPointerProof, NotWhereAnExpressionGivesTheCfaOrStackPointer) {
  EXPECT_FALSE(is_proven(rows({0x42, 0x10, 15, 2, 0x23, 32})));                                // *(CFA + 32)
  EXPECT_FALSE(is_proven(rows({0x42, 0x16, 15, 2, 0x70, 0})));                                 // r0
  EXPECT_FALSE(is_proven(rows({0x42, 0x0f, 3, 0x7f, 0xa0, 0x01, 0x8f, 10})));                  // CFA r15 + 160
  EXPECT_FALSE(is_proven(rows({0x42, 0x16, 15, 2, 0x70, 0, 0x42, 0x09, 15, 18})));             // it is over
  EXPECT_TRUE(is_proven(rows({0x42, 0x09, 15, 18, 0x16, 11, 2, 0x70, 0, 0x10, 2, 1, 0x9f})));  // of others
}
TEST_F(StackPointerProof, NotWithAnUnknownOpcode) {
  EXPECT_FALSE(is_proven(rows({0x42, 0x09, 15, 18, 0x42, 0x3f})));
  // After the last row.
  EXPECT_FALSE(is_proven(rows({0x42, 0x09, 15, 18, 0x7f, 0x3f})));
}
TEST_F(StackPointerProof, NotOfAnyOtherRule) {
  EXPECT_FALSE(is_proven(rows({0x42, 0x15, 15, 0x7f})));
  EXPECT_FALSE(is_proven(rows({0x42, 0x07, 15})));
}

}  // namespace
}  // namespace sframe_gen::test
