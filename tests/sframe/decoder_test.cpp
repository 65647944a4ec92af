#include <gtest/gtest.h>

#include "sframe/format.hpp"
#include "sframe/good_section.hpp"
#include "sframe_gen/section.hpp"

namespace sframe_gen::sframe {
namespace {

constexpr std::uint32_t rbp = 6, rsp = 7, r10 = 10;
const InputOrigin origin{"a.out", ".sframe"};

Section decode_good(std::vector<std::byte> bytes = test::good_section()) {
  return decode(bytes, test::good_address, origin);
}

TEST(Decoder, ReadsTheHeader) {
  const Section section = decode_good();
  EXPECT_EQ(section.address, 0x2000U);
  EXPECT_EQ(section.endian, Endian::Little);
  EXPECT_EQ(section.version, Version::V3);
  EXPECT_EQ(section.flags, flag::sorted | flag::function_start_pc_relative);
  EXPECT_EQ(section.abi, Abi::Amd64);
  EXPECT_EQ(section.fixed_fp_offset, 0);
  EXPECT_EQ(section.fixed_ra_offset, -8);
  EXPECT_EQ(section.fdes.size(), 3U);
}

TEST(Decoder, ReadsDefaultRows) {
  Fde expected;
  expected.start = 0x1000;
  expected.size = 7;
  expected.fres = {
      {0, RecoveryRules{.cfa = Rule::register_plus(rsp, 8)}},
      {1, RecoveryRules{.cfa = Rule::register_plus(rsp, 16), .frame_pointer = Rule::at_cfa(-16)}},
      {4, RecoveryRules{.cfa = Rule::register_plus(rbp, 16), .frame_pointer = Rule::at_cfa(-16)}},
      {6, RecoveryRules{.cfa = Rule::register_plus(rsp, 8)}},
  };
  EXPECT_EQ(decode_good().fdes.at(0), expected);
}

TEST(Decoder, ReadsRepeatedRows) {
  Fde expected;
  expected.start = 0x1010;
  expected.size = 32;
  expected.pc_type = PcType::Mask;
  expected.repeat_size = 16;
  expected.fres = {{0, RecoveryRules{.cfa = Rule::register_plus(rsp, 8)}},
                   {11, RecoveryRules{.cfa = Rule::register_plus(rsp, 16)}}};
  EXPECT_EQ(decode_good().fdes.at(1), expected);
}

TEST(Decoder, ReadsFlexibleRows) {
  Fde expected;
  expected.start = 0x1040;
  expected.size = 20;
  expected.signal_frame = true;
  expected.type = FdeType::Flexible;
  expected.fres = {
      {0, RecoveryRules{.cfa = Rule::register_plus(rsp, 8)}},
      {4, RecoveryRules{.cfa = Rule::in_register(r10), .frame_pointer = Rule::at_register(rbp, 0)}},
      {8,
       RecoveryRules{
           .cfa = Rule::at_register(rbp, -8), .return_address = Rule::at_cfa(-16), .frame_pointer = Rule::at_cfa(-24)}},
      {16, std::nullopt},
  };
  EXPECT_EQ(decode_good().fdes.at(2), expected);
}

TEST(Decoder, ReadsWordsOfEveryWidth) {
  const Section section = decode(test::golden_section("default"), test::golden_address, origin);
  EXPECT_EQ(section.fdes.at(1).fres.at(1).recovery->cfa.offset, 4104);
  EXPECT_EQ(section.fdes.at(2).fres.at(1).recovery->cfa.offset, 10000008);
  EXPECT_EQ(section.fdes.at(2).fres.at(2).pc_offset, 0x1000eU);
}

TEST(Decoder, CountsStartsFromTheSectionWithoutThePcRelativeFlag) {
  auto bytes = test::good_section();
  bytes[3] = std::byte{flag::sorted};
  // The first two have the same distance from their own fields, so they start together now.
  const Section section = decode(bytes, test::good_address, origin, {.allow_overlap = true});
  EXPECT_EQ(section.fdes.at(0).start, 0x2000 - 0x101cU);
  EXPECT_EQ(section.fdes.at(2).start, 0x2000 - 0xffcU);
}

TEST(Decoder, SkipsTheAuxiliaryHeader) {
  auto bytes = test::good_section();
  bytes[7] = std::byte{4};
  bytes.insert(bytes.begin() + traits_of(Version::V3).header_size(), 4, std::byte{0xaa});
  // The fields lie four bytes further on now, and with them what they count from.
  Section section = decode(bytes, test::good_address - 4, origin);
  EXPECT_EQ(section.fdes, decode_good().fdes);
}

TEST(Decoder, LetsFunctionsShareRows) {
  auto bytes = test::good_section();
  bytes[0x0c] = std::byte{12};  // number of rows
  bytes[0x38] = std::byte{0};   // offset of the second function's rows
  const Section section = decode_good(bytes);
  EXPECT_EQ(section.fdes.at(1).fres, section.fdes.at(0).fres);
}

TEST(Decoder, TakesARowAtTheEndUnlessToldOtherwise) {
  auto bytes = test::good_section();
  bytes[0x5c] = std::byte{7};
  EXPECT_EQ(decode_good(bytes).fdes.at(0).fres.back().pc_offset, 7U);
  EXPECT_THROW(decode(bytes, test::good_address, origin, {.allow_fre_at_end = false}), MalformedInput);
}

TEST(Decoder, TakesOverlapWhereStartsAreNotFinal) {
  auto bytes = test::good_section();
  bytes[0x24] = std::byte{0x20};
  EXPECT_THROW(decode(bytes, test::good_address, origin), MalformedInput);
  EXPECT_NO_THROW(decode(bytes, test::good_address, origin, {.allow_overlap = true}));
}

TEST(Decoder, ReadsWhatBinutilsWrote) {
  for (const char* name : {"default", "flexible", "stubs"}) {
    const auto bytes = test::golden_section(name);
    ASSERT_FALSE(bytes.empty()) << name;
    EXPECT_NO_THROW(decode(bytes, test::golden_address, origin)) << name;
  }
}

TEST(Decoder, NotesWhatDoesNotHinderReading) {
  std::vector<std::byte> bytes = test::good_section();
  bytes[5] = std::byte{0xf0};
  EXPECT_THROW(decode(bytes, test::good_address, origin), MalformedInput);
  const RemarkedSection found = decode_with_remarks(bytes, test::good_address, origin);
  EXPECT_FALSE(found.section.fdes.empty());
  EXPECT_EQ(found.remarks, (std::vector<std::string>{"a.out: .sframe+0x5: fixed FP offset is -16, not 0"}));
}

}  // namespace
}  // namespace sframe_gen::sframe
