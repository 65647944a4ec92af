// What a whole function becomes in each version: marks of the descriptor, PLT entries, holes of what the version lacks.

#include <gtest/gtest.h>

#include "emit/rules.hpp"
#include "emit/selected.hpp"

namespace sframe_gen::test {
namespace {

using sframe::Abi;
using sframe::PcType;

SpelledFunction function_of(Abi abi) {
  return {0x1000, 0x20, false, {{0, entry_rules(abi)}}};
}

Spelled selected(const SpelledFunction& frames, Abi abi, const OutputFormat& format) {
  const emit::Dialect dialect = dialect_of(abi, format);
  return select(frames, dialect);
}

TEST(SelectSignalFrame, IsMarkedInVersion3) {
  for (const Abi abi : {Abi::Amd64, Abi::Aarch64Little, Abi::Aarch64Big, Abi::S390x}) {
    SpelledFunction frames = function_of(abi);
    frames.signal_frame = true;
    EXPECT_TRUE(selected(frames, abi, v3).fdes.at(0).signal_frame) << sframe::name_of(abi);
  }
}
TEST(SelectSignalFrame, HasNoRowWhereNothingCouldMarkIt) {
  SpelledFunction frames = function_of(Abi::Amd64);
  frames.signal_frame = true;
  for (const OutputFormat& format : {v2, v2_from_section, v1, ctf_frame}) {
    const Spelled result = selected(frames, Abi::Amd64, format);
    EXPECT_TRUE(result.fdes.empty());
    EXPECT_EQ(result.holes, (std::vector<CoverageHole>{{0x1000, 0x1020, Unrepresentable::SignalFrame}}));
  }
}

SpelledFunction with_b_key(Abi abi) {
  SpelledFunction frames = function_of(abi);
  frames.b_key = true;
  return frames;
}

TEST(SelectBKey, IsNamedWhereTheVersionHasABitForIt) {
  for (const Abi abi : {Abi::Aarch64Little, Abi::Aarch64Big}) {
    for (const OutputFormat& format : {v3, v3_flexible, v2, v1}) {
      EXPECT_TRUE(selected(with_b_key(abi), abi, format).fdes.at(0).b_key);
    }
    EXPECT_FALSE(selected(with_b_key(abi), abi, ctf_frame).fdes.at(0).b_key);
  }
}
// The letter of the augmentation is free for other uses there; readers refuse the bit.
TEST(SelectBKey, IsNotNamedWhereNothingIsSigned) {
  EXPECT_FALSE(selected(with_b_key(Abi::Amd64), Abi::Amd64, v3).fdes.at(0).b_key);
  EXPECT_FALSE(selected(with_b_key(Abi::S390x), Abi::S390x, v2).fdes.at(0).b_key);
}

TEST(SelectSigned, RowsThatCtfFrameCannotMarkAreHoles) {
  SpelledFunction frames = function_of(Abi::Aarch64Little);
  cfi::Rules signed_rules = entry_rules(Abi::Aarch64Little);
  signed_rules.signing = cfi::Signing::Signed;
  frames.rows = {{0, entry_rules(Abi::Aarch64Little)}, {4, signed_rules}, {0x18, entry_rules(Abi::Aarch64Little)}};
  const Spelled result = selected(frames, Abi::Aarch64Little, ctf_frame);
  EXPECT_EQ(result.fdes.size(), 2U);
  EXPECT_EQ(result.holes, (std::vector<CoverageHole>{{0x1004, 0x1018, Unrepresentable::SignedReturnAddress}}));
  const Spelled with_bit = selected(frames, Abi::Aarch64Little, v1);
  ASSERT_EQ(with_bit.fdes.size(), 1U);
  EXPECT_EQ(with_bit.fdes[0].fres.size(), 3U);
  EXPECT_TRUE(with_bit.fdes[0].fres[1].recovery->mangled_ra);
}

/// PLT0 and two entries of a lazy PLT.
SpelledFunction plt() {
  SpelledFunction frames = function_of(Abi::Amd64);
  frames.size = 0x30;
  cfi::Rules entries = entry_rules(Abi::Amd64);
  entries.cfa = cfi::PltStub{cfi::amd64::rsp, 8, 11};
  frames.rows = {{0, entry_rules(Abi::Amd64)}, {0x10, entries}};
  return frames;
}

TEST(SelectPlt, RepeatsWhereTheVersionNamesTheBlocksSize) {
  for (const OutputFormat& format : {v3, v3_plain, v2, v2_from_section}) {
    const Spelled result = selected(plt(), Abi::Amd64, format);
    ASSERT_EQ(result.fdes.size(), 2U);
    EXPECT_EQ(result.fdes[1].pc_type, PcType::Mask);
    EXPECT_EQ(result.fdes[1].repeat_size, 16);
    EXPECT_EQ(result.fdes[1].fres.size(), 2U);
  }
}
TEST(SelectPlt, IsWrittenOutWhereRowStartsWouldBeBitMasks) {
  for (const OutputFormat& format : {v1, ctf_frame}) {
    const Spelled result = selected(plt(), Abi::Amd64, format);
    ASSERT_EQ(result.fdes.size(), 1U);
    EXPECT_EQ(result.fdes[0].pc_type, PcType::Increment);
    std::vector<std::uint32_t> starts;
    for (const sframe::Fre& fre : result.fdes[0].fres) starts.push_back(fre.pc_offset);
    // PLT0 and what comes before the first entry's push say the same here.
    EXPECT_EQ(starts, (std::vector<std::uint32_t>{0, 0x1b, 0x20, 0x2b}));
    EXPECT_TRUE(result.holes.empty());
  }
}

TEST(SelectOutermostFrame, IsAHoleWhereRowsWithoutWordsMeanNothing) {
  SpelledFunction frames = function_of(Abi::Amd64);
  frames.rows[0].rules.return_address = cfi::Undefined{};
  EXPECT_EQ(selected(frames, Abi::Amd64, v2).fdes.at(0).fres, (std::vector<sframe::Fre>{{0, std::nullopt}}));
  for (const OutputFormat& format : {v2_from_section, v1, ctf_frame}) {
    EXPECT_EQ(selected(frames, Abi::Amd64, format).holes,
              (std::vector<CoverageHole>{{0x1000, 0x1020, Unrepresentable::ReturnAddressUndefined}}));
  }
}

TEST(SelectFlexible, OneFunctionOfAarch64HasBothKinds) {
  SpelledFunction frames = function_of(Abi::Aarch64Little);
  cfi::Rules on_x19 = entry_rules(Abi::Aarch64Little);
  on_x19.cfa = reg(19, 32);
  frames.rows.push_back({8, on_x19});
  const Spelled with_switch = selected(frames, Abi::Aarch64Little, v3_flexible);
  ASSERT_EQ(with_switch.fdes.size(), 1U);
  EXPECT_EQ(with_switch.fdes[0].type, sframe::FdeType::Flexible);
  const Spelled without = selected(frames, Abi::Aarch64Little, v3);
  EXPECT_EQ(without.fdes.at(0).type, sframe::FdeType::Default);
  EXPECT_EQ(without.holes, (std::vector<CoverageHole>{{0x1008, 0x1020, Unrepresentable::CfaNeedsFlexible}}));
}

}  // namespace
}  // namespace sframe_gen::test
