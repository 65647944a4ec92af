// The other versions, ABIs and byte orders: what each byte of the sections by hand means.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "sframe/format.hpp"
#include "sframe/good_section.hpp"
#include "sframe/good_versions.hpp"

namespace sframe_gen::sframe {
namespace {

Section decode_good(const std::string& name) {
  return decode(test::good_version(name), test::good_address, {name, ".sframe"}, {}, test::family_of(name));
}

struct HeaderCase {
  const char* name;
  Version version;
  Endian endian;
  Abi abi;
  std::uint8_t flags;
  std::size_t fdes;
};

class GoodVersion : public testing::TestWithParam<HeaderCase> {};

TEST_P(GoodVersion, SaysWhatItIs) {
  const HeaderCase& expected = GetParam();
  const Section section = decode_good(expected.name);
  EXPECT_EQ(section.version, expected.version);
  EXPECT_EQ(section.endian, expected.endian);
  EXPECT_EQ(section.abi, expected.abi);
  EXPECT_EQ(section.flags, expected.flags);
  EXPECT_EQ(section.fdes.size(), expected.fdes);
  EXPECT_EQ(section.fdes[0].start, 0x1000U);
  if (expected.fdes > 1) {
    EXPECT_EQ(section.fdes.back().start, 0x1040U);
  }
}

constexpr HeaderCase header_cases[]{
    {"v2_amd64", Version::V2, Endian::Little, Abi::Amd64, 5, 3},
    {"v2_s390x", Version::V2, Endian::Big, Abi::S390x, 5, 2},
    {"v1_aarch64_be", Version::V1, Endian::Big, Abi::Aarch64Big, 1, 2},
    {"ctf_aarch64", Version::CtfFrame, Endian::Little, Abi::Aarch64Little, 3, 2},
    {"v3_aarch64_be", Version::V3, Endian::Big, Abi::Aarch64Big, 5, 2},
    {"v3_s390x", Version::V3, Endian::Big, Abi::S390x, 5, 1},
};
INSTANTIATE_TEST_SUITE_P(Sections, GoodVersion, testing::ValuesIn(header_cases),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(DecoderV2, ReadsDescriptorsAndRows) {
  const Section section = decode_good("v2_amd64");
  Fde expected;
  expected.start = 0x1000;
  expected.size = 7;
  expected.fres = {{0, RecoveryRules{.cfa = Rule::register_plus(7, 8)}},
                   {1, RecoveryRules{.cfa = Rule::register_plus(7, 16), .frame_pointer = Rule::at_cfa(-16)}},
                   {4, RecoveryRules{.cfa = Rule::register_plus(6, 16), .frame_pointer = Rule::at_cfa(-16)}},
                   {6, RecoveryRules{.cfa = Rule::register_plus(7, 8)}}};
  EXPECT_EQ(section.fdes.at(0), expected);
  EXPECT_EQ(section.fdes.at(1).pc_type, PcType::Mask);
  EXPECT_EQ(section.fdes.at(1).repeat_size, 16);
  EXPECT_EQ(section.fdes.at(2).fres.at(1), (Fre{0x134, std::nullopt}));
}

TEST(DecoderV2, CountsStartsFromTheSectionWithoutTheFlagOfErratum1) {
  auto bytes = test::good_version("v2_amd64");
  bytes[3] = std::byte{1};
  bytes[0x44] = std::byte{0x40};
  bytes[0x45] = std::byte{0xf0};
  bytes[0x30] = std::byte{0xf0};
  const Section section = decode(bytes, test::good_address, {"a.out", ".sframe"});
  EXPECT_EQ(section.fdes.at(0).start, 0x0fe4U);
  EXPECT_EQ(section.fdes.at(1).start, 0x0ff0U);
  EXPECT_EQ(section.fdes.at(2).start, 0x1040U);
}

TEST(DecoderV2, TakesAFunctionWithoutRows) {
  auto bytes = test::good_version("v2_amd64");
  bytes[0x50] = std::byte{0};     // the last function's
  bytes[0x4c] = std::byte{0x1b};  // which stand at the end
  bytes[0x0c] = std::byte{6};
  EXPECT_TRUE(decode(bytes, test::good_address, {"a.out", ".sframe"}).fdes.at(2).fres.empty());
}

TEST(DecoderV2, KnowsTheFlagThatAllFunctionsPreserveTheFramePointer) {
  for (const char* name : {"v2_amd64", "v2_s390x", "v1_aarch64_be"}) {
    auto bytes = test::good_version(name);
    bytes[3] |= std::byte{flag::frame_pointer};
    EXPECT_NE(decode(bytes, test::good_address, {name, ".sframe"}).flags & flag::frame_pointer, 0) << name;
  }
}

TEST(DecoderS390x, UnscalesTheCfaAndReadsRegistersFromOddWords) {
  const Section section = decode_good("v2_s390x");
  EXPECT_EQ(section.fdes.at(0).fres,
            (std::vector<Fre>{
                {0, RecoveryRules{.cfa = Rule::register_plus(15, 160)}},
                {6, RecoveryRules{.cfa = Rule::register_plus(15, 168), .return_address = Rule::at_cfa(-48)}},
                {0x0a, RecoveryRules{.cfa = Rule::register_plus(15, 336), .frame_pointer = Rule::at_cfa(-72)}},
                {0x0e, RecoveryRules{.cfa = Rule::register_plus(11, 336),
                                     .return_address = Rule::in_register(16),
                                     .frame_pointer = Rule::in_register(17)}},
                {0x12, RecoveryRules{.cfa = Rule::register_plus(15, 1184), .return_address = Rule::in_register(68)}}}));
  EXPECT_EQ(section.fdes.at(1).repeat_size, 32);
}

TEST(DecoderS390x, NegativeOddWordsNameNoRegister) {
  auto bytes = test::good_version("v2_s390x");
  const std::array<std::byte, 2> registers{std::byte{0x21}, std::byte{0x23}};  // RA in f0, FP in f2
  const auto place = std::search(bytes.begin(), bytes.end(), registers.begin(), registers.end());
  ASSERT_NE(place, bytes.end());
  *place |= std::byte{0x80};
  EXPECT_THROW(decode(bytes, test::good_address, {"a.out", ".sframe"}), MalformedInput);
}

TEST(DecoderS390x, UnscalesTheCfaOfFlexibleRowsToo) {
  EXPECT_EQ(decode_good("v3_s390x").fdes.at(0).fres,
            (std::vector<Fre>{
                {0, RecoveryRules{.cfa = Rule::register_plus(15, 160)}},
                {4, RecoveryRules{.cfa = Rule::register_plus(15, 168), .return_address = Rule::in_register(16)}},
                {8, RecoveryRules{.cfa = Rule::register_plus(10, 320), .frame_pointer = Rule::at_register(70, -8)}},
                {0x0c, RecoveryRules{.cfa = Rule::at_register(11, 0),
                                     .return_address = Rule::at_cfa(-48),
                                     .frame_pointer = Rule::at_cfa(-72)}},
            }));
}

TEST(DecoderS390x, OddWordsOfVersion3AreOffsets) {
  auto bytes = test::good_version("v3_s390x");
  bytes[0x49] = std::byte{0x5b};  // CFA control: *(r11 + …) stays
  bytes[0x4c] = std::byte{0xd1};  // RA at CFA-47
  const Section section = decode(bytes, test::good_address, {"a.out", ".sframe"});
  EXPECT_EQ(section.fdes.at(0).fres.at(3).recovery->return_address, Rule::at_cfa(-47));
}

TEST(DecoderAarch64, ReadsSignedRowsAndTheKey) {
  for (const char* name : {"v1_aarch64_be", "v3_aarch64_be"}) {
    const Section section = decode_good(name);
    EXPECT_TRUE(section.fdes.at(0).b_key) << name;
    EXPECT_FALSE(section.fdes.at(1).b_key) << name;
    EXPECT_FALSE(section.fdes.at(0).fres.at(0).recovery->mangled_ra) << name;
    EXPECT_EQ(section.fdes.at(0).fres.at(1).recovery, (RecoveryRules{.cfa = Rule::in_register(31), .mangled_ra = true}))
        << name;
    EXPECT_TRUE(section.fdes.at(0).fres.at(2).recovery->mangled_ra) << name;
  }
}

TEST(DecoderAarch64, ReadsWideBigEndianWords) {
  EXPECT_EQ(decode_good("v1_aarch64_be").fdes.at(0).fres.at(2).recovery,
            (RecoveryRules{.cfa = Rule::register_plus(29, 320),
                           .return_address = Rule::at_cfa(-24),
                           .frame_pointer = Rule::at_cfa(-32),
                           .mangled_ra = true}));
  EXPECT_EQ(decode_good("v3_aarch64_be").fdes.at(1).fres.at(0).recovery,
            (RecoveryRules{.cfa = Rule::register_plus(31, 288), .frame_pointer = Rule::at_cfa(-16)}));
}

// As the Linux kernel takes it.
TEST(DecoderAarch64, ReturnAddressOfZeroIsUnchanged) {
  auto bytes = test::good_version("v1_aarch64_be");
  bytes[0x51] = std::byte{0};
  bytes[0x50] = std::byte{0};
  EXPECT_EQ(decode(bytes, test::good_address, {"a.out", ".sframe"}).fdes.at(0).fres.at(3).recovery->return_address,
            std::nullopt);
}

TEST(DecoderV1, RowStartsOfRepeatedFunctionsAreBitMasks) {
  const Fde function = decode_good("v1_aarch64_be").fdes.at(1);
  EXPECT_EQ(function.pc_type, PcType::Mask);
  EXPECT_EQ(function.repeat_size, 0);
  EXPECT_EQ(function.fres.at(1).pc_offset, 8U);
}

TEST(DecoderCtfFrame, HasTheFramePointerFirst) {
  const Section section = decode_good("ctf_aarch64");
  EXPECT_EQ(
      section.fdes.at(0).fres,
      (std::vector<Fre>{{0, RecoveryRules{.cfa = Rule::in_register(31)}},
                        {4, RecoveryRules{.cfa = Rule::register_plus(31, 16), .frame_pointer = Rule::at_cfa(-16)}},
                        {8, RecoveryRules{.cfa = Rule::register_plus(29, 32),
                                          .return_address = Rule::at_cfa(-24),
                                          .frame_pointer = Rule::at_cfa(-32)}}}));
  EXPECT_EQ(section.fdes.at(1).fres.at(1).pc_offset, 0x110U);
  EXPECT_EQ(section.fdes.at(1).fres.at(1).recovery->cfa, Rule::register_plus(31, 320));
}

// Nothing in the bytes tells the two apart but for what they make of them.
TEST(DecoderCtfFrame, IsToldFromVersion1ByItsNameOnly) {
  EXPECT_THROW(decode(test::good_version("ctf_aarch64"), test::good_address, {"a.out", ".sframe"}), MalformedInput);
  EXPECT_THROW(
      decode(test::good_version("v1_aarch64_be"), test::good_address, {"a.out", ".ctf_frame"}, {}, Family::CtfFrame),
      MalformedInput);
}

TEST(DecoderCtfFrame, HasOneVersion) {
  for (const unsigned number : {0U, 2U, 3U}) {
    auto bytes = test::good_version("ctf_aarch64");
    bytes[2] = static_cast<std::byte>(number);
    EXPECT_THROW(decode(bytes, test::good_address, {"a.out", ".ctf_frame"}, {}, Family::CtfFrame), Refused) << number;
  }
}

}  // namespace
}  // namespace sframe_gen::sframe
