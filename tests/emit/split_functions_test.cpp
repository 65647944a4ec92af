// Functions come apart around rows without a form, around PLT entries, and where a descriptor's counts end.

#include "emit/split_functions.hpp"

#include <gtest/gtest.h>

#include "emit/dialects.hpp"
#include "emit/selected.hpp"

namespace sframe_gen::test {
namespace {

using sframe::FdeType;
using sframe::PcType;

cfi::Rules sp_plus(std::int64_t offset) {
  return {cfi::Formula{cfi::amd64::rsp, offset, false}, {}, {}, cfi::Formula{std::nullopt, -8, true}};
}
cfi::Rules on_r10() {
  return {cfi::Formula{cfi::DwarfRegister{10}, 0, false}, {}, {}, cfi::Formula{std::nullopt, -8, true}};
}
cfi::Rules expression() {
  return {cfi::OtherExpression{}, {}, {}, cfi::Formula{std::nullopt, -8, true}};
}
cfi::Rules outermost() {
  return {cfi::Formula{cfi::amd64::rsp, 8, false}, {}, {}, cfi::Undefined{}};
}
cfi::Rules plt_entries() {
  return {cfi::PltStub{cfi::amd64::rsp, 8, 11}, {}, {}, cfi::Formula{std::nullopt, -8, true}};
}

sframe::Fre row(std::uint32_t pc_offset, std::int32_t sp_offset) {
  return {pc_offset, sframe::RecoveryRules{.cfa = sframe::Rule::register_plus(7, sp_offset)}};
}

TEST(Select, WholeFunction) {
  const auto selected = select({0x1000, 0x20, false, {{0, sp_plus(8)}, {1, sp_plus(16)}}}, amd64_v3);
  ASSERT_EQ(selected.fdes.size(), 1U);
  EXPECT_EQ(selected.fdes[0],
            (sframe::Fde{0x1000, 0x20, false, false, PcType::Increment, 0, FdeType::Default, {row(0, 8), row(1, 16)}}));
  EXPECT_TRUE(selected.holes.empty());
}

TEST(Select, HoleInTheMiddle) {
  const auto selected =
      select({0x1000, 0x20, false, {{0, sp_plus(8)}, {8, expression()}, {0x10, sp_plus(16)}}}, amd64_v3);
  ASSERT_EQ(selected.fdes.size(), 2U);
  EXPECT_EQ(selected.fdes[0].start, 0x1000U);
  EXPECT_EQ(selected.fdes[0].size, 8U);
  EXPECT_EQ(selected.fdes[1].start, 0x1010U);
  EXPECT_EQ(selected.fdes[1].size, 0x10U);
  EXPECT_EQ(selected.fdes[1].fres, (std::vector<sframe::Fre>{row(0, 16)}));
  EXPECT_EQ(selected.holes, (std::vector<CoverageHole>{{0x1008, 0x1010, Unrepresentable::CfaIsExpression}}));
}

TEST(Select, HoleAtTheStartAndAtTheEnd) {
  const auto selected =
      select({0x1000, 0x20, false, {{0, expression()}, {8, sp_plus(8)}, {0x10, expression()}}}, amd64_v3);
  ASSERT_EQ(selected.fdes.size(), 1U);
  EXPECT_EQ(selected.fdes[0].start, 0x1008U);
  EXPECT_EQ(selected.fdes[0].size, 8U);
  EXPECT_EQ(selected.holes.size(), 2U);
}

TEST(Select, NeighboringHolesOfOneReasonAreOne) {
  cfi::Rules other = expression();
  other.frame_pointer = cfi::Formula{std::nullopt, -16, true};
  const auto selected = select({0x1000, 0x20, false, {{0, expression()}, {8, other}}}, amd64_v3);
  EXPECT_TRUE(selected.fdes.empty());
  EXPECT_EQ(selected.holes, (std::vector<CoverageHole>{{0x1000, 0x1020, Unrepresentable::CfaIsExpression}}));
}

TEST(Select, OneFlexibleRowMakesItsDescriptorFlexible) {
  const auto selected = select({0x1000, 0x20, true, {{0, sp_plus(8)}, {8, on_r10()}}}, amd64_v3);
  ASSERT_EQ(selected.fdes.size(), 1U);
  EXPECT_EQ(selected.fdes[0].type, FdeType::Flexible);
  EXPECT_TRUE(selected.fdes[0].signal_frame);
}

TEST(Select, OnlyThePieceThatNeedsItIsFlexible) {
  const auto selected = select({0x1000, 0x20, false, {{0, sp_plus(8)}, {8, expression()}, {0x10, on_r10()}}}, amd64_v3);
  ASSERT_EQ(selected.fdes.size(), 2U);
  EXPECT_EQ(selected.fdes[0].type, FdeType::Default);
  EXPECT_EQ(selected.fdes[1].type, FdeType::Flexible);
}

TEST(Select, OutermostFrameNeedsNoFlexibleDescriptor) {
  const auto selected = select({0x1000, 0x20, false, {{0, outermost()}}}, amd64_v3);
  ASSERT_EQ(selected.fdes.size(), 1U);
  EXPECT_EQ(selected.fdes[0].type, FdeType::Default);
  EXPECT_EQ(selected.fdes[0].fres, (std::vector<sframe::Fre>{{0, std::nullopt}}));
}

TEST(Select, RowsThatBecomeEqualMerge) {
  // Both say that rbp is unchanged, one by saying nothing.
  cfi::Rules same = sp_plus(8);
  same.frame_pointer = cfi::SameValue{};
  EXPECT_EQ(select({0x1000, 0x20, false, {{0, sp_plus(8)}, {8, same}}}, amd64_v3).fdes[0].fres.size(), 1U);
}

// GNU ld's one FDE over a lazy PLT: PLT0 with its own rows, then 16-byte entries
TEST(Select, LazyPlt) {
  const auto selected =
      select({0x1000, 0x40, false, {{0, sp_plus(16)}, {6, sp_plus(24)}, {16, plt_entries()}}}, amd64_v3);
  ASSERT_EQ(selected.fdes.size(), 2U);
  EXPECT_EQ(
      selected.fdes[0],
      (sframe::Fde{0x1000, 0x10, false, false, PcType::Increment, 0, FdeType::Default, {row(0, 16), row(6, 24)}}));
  EXPECT_EQ(selected.fdes[1],
            (sframe::Fde{0x1010, 0x30, false, false, PcType::Mask, 16, FdeType::Default, {row(0, 8), row(11, 16)}}));
}

TEST(Select, MisalignedPltIsWrittenOut) {
  const auto selected = select({0x1008, 0x40, false, {{0, sp_plus(16)}, {16, plt_entries()}}}, amd64_v3);
  ASSERT_EQ(selected.fdes.size(), 1U);
  // The expression looks at the low bits of rip: at 0x1018 and 0x101b, then at 0x1020, 0x102b and so on.
  EXPECT_EQ(selected.fdes[0].fres,
            (std::vector<sframe::Fre>{row(0, 16), row(0x10, 8), row(0x13, 16), row(0x18, 8), row(0x23, 16),
                                      row(0x28, 8), row(0x33, 16), row(0x38, 8)}));
  EXPECT_TRUE(selected.holes.empty());
}

TEST(Select, PltCutOffBeforeThePushHasOneRow) {
  const auto selected = select({0x1000, 0x18, false, {{0, sp_plus(16)}, {16, plt_entries()}}}, amd64_v3);
  ASSERT_EQ(selected.fdes.size(), 2U);
  EXPECT_EQ(selected.fdes[1].fres.size(), 1U);
}

TEST(Select, MoreRowsThanADescriptorCanCount) {
  SpelledFunction frames{0x1000, 200000, false, {}};
  for (std::uint64_t i = 0; i < 70000; ++i) frames.rows.push_back({i, sp_plus(i % 2 == 0 ? 8 : 16)});
  const auto selected = select(frames, amd64_v3);
  ASSERT_EQ(selected.fdes.size(), 2U);
  EXPECT_EQ(selected.fdes[0].fres.size(), 65535U);
  EXPECT_EQ(selected.fdes[0].size, 65535U);
  EXPECT_EQ(selected.fdes[1].start, 0x1000U + 65535U);
  EXPECT_EQ(selected.fdes[1].fres.size(), 70000U - 65535U);
  EXPECT_EQ(selected.fdes[1].size, 200000U - 65535U);
}

TEST(Select, MoreRowsThanAReaderIsToScan) {
  SpelledFunction frames{0x1000, 1000, false, {}};
  for (std::uint64_t i = 0; i < 600; ++i) frames.rows.push_back({i, sp_plus(i % 2 == 0 ? 8 : 16)});
  const auto selected = select(frames, dialect_of(sframe::Abi::Amd64, {.most_rows = 256}));
  ASSERT_EQ(selected.fdes.size(), 3U);
  for (const sframe::Fde& fde : selected.fdes) EXPECT_LE(fde.fres.size(), 256U);
  EXPECT_EQ(selected.fdes[2].start, 0x1200U);
  EXPECT_EQ(selected.fdes[2].size, 1000U - 512U);
}

// Of FDEs that are too many to sort out.
TEST(Select, HoleOfMoreThan4GiB) {
  const std::uint64_t size = 0x180000000;
  const auto selected = select({0x1000, size, false, {{0, expression()}}}, amd64_v3);
  EXPECT_TRUE(selected.fdes.empty());
  EXPECT_EQ(selected.holes, (std::vector<CoverageHole>{{0x1000, 0x1000 + size, Unrepresentable::CfaIsExpression}}));
}

// The Linux kernel for x86-64: the end of the address space is less than 4 GiB away.
TEST(Select, FunctionInTheLast4GiB) {
  const std::uint64_t start = 0xffffffff81000000;
  const auto selected = select({start, 0x20, false, {{0, sp_plus(8)}, {4, sp_plus(16)}}}, amd64_v3);
  ASSERT_EQ(selected.fdes.size(), 1U);
  EXPECT_EQ(selected.fdes[0].start, start);
  EXPECT_EQ(selected.fdes[0].size, 0x20U);
  EXPECT_EQ(selected.fdes[0].fres, (std::vector<sframe::Fre>{row(0, 8), row(4, 16)}));
}

// A name of the CFA's register or of the CFA: rules of DWARF that differ, and one rule of SFrame.
TEST(Select, RulesThatSayTheSameAreOneRow) {
  cfi::Rules by_register = sp_plus(24), by_cfa = sp_plus(24);
  by_register.frame_pointer = cfi::Formula{cfi::amd64::rsp, 8, true};
  by_cfa.frame_pointer = cfi::Formula{std::nullopt, -16, true};
  EXPECT_EQ(select({0x1000, 0x20, false, {{0, by_register}, {8, by_cfa}}}, amd64_v3).fdes[0].fres.size(), 1U);
}

}  // namespace
}  // namespace sframe_gen::test
