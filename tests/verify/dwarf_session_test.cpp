// What libdwarf must be helped with, and what it makes of a section.

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "cfi/frame_sections.hpp"
#include "verify/frame_sections.hpp"
#include "verify/libdwarf.hpp"

namespace sframe_gen::test {
namespace {

TEST(FrameSectionCheck, StopsAtTheTerminator) {
  EXPECT_EQ(
      verify::check_frame_section(verify::CfiKind::EhFrame, good_section(), section_address, Endian::Little, origin)
          .used,
      0x2cU);
}

TEST(DwarfSession, ReadsTheGoodOne) {
  const auto bytes = good_section();
  const verify::DwarfSession session(verify::CfiKind::EhFrame, bytes, section_address, Endian::Little, origin);
  ASSERT_EQ(session.table().cies.size(), 1U);
  EXPECT_EQ(session.table().cies[0].pointer_encoding, 0x1b);
  EXPECT_FALSE(session.table().cies[0].signal_frame);
  ASSERT_EQ(session.table().fdes.size(), 1U);
  EXPECT_EQ(session.table().fdes[0].function_start, 0x100U);
  EXPECT_EQ(session.table().fdes[0].function_size, 0x10U);
  EXPECT_EQ(session.table().fdes[0].section_offset, 0x18U);
}

struct Letters {
  const char* name;
  const char* letters;  ///< each is inserted before the ones already there
  std::vector<std::uint64_t> places;
  bool signal_frame, b_key;
};

class AugmentationLetters : public testing::TestWithParam<Letters> {};

// libdwarf 20210528 gives up on a CIE with 'B' or 'G': it gets a copy with other letters.
TEST_P(AugmentationLetters, AreReadPastLibdwarf) {
  const Letters& tested = GetParam();
  const auto bytes = with_letters(tested.letters);
  EXPECT_EQ(verify::check_frame_section(verify::CfiKind::EhFrame, bytes, section_address, Endian::Little, origin)
                .aarch64_letters,
            tested.places);
  const verify::DwarfSession session(verify::CfiKind::EhFrame, bytes, section_address, Endian::Little, origin);
  ASSERT_EQ(session.table().cies.size(), 1U);
  EXPECT_EQ(session.table().cies[0].signal_frame, tested.signal_frame);
  EXPECT_EQ(session.table().cies[0].b_key, tested.b_key);
  EXPECT_EQ(session.table().cies[0].pointer_encoding, 0x1b);
  ASSERT_EQ(session.table().fdes.size(), 1U);
  EXPECT_EQ(session.table().fdes[0].function_start, 0x100U);
}

INSTANTIATE_TEST_SUITE_P(EhFrame, AugmentationLetters,
                         testing::Values(Letters{"SignalFrame", "S", {}, true, false},
                                         Letters{"KeyB", "B", {11}, false, true},
                                         Letters{"MemoryTagging", "G", {11}, false, false},
                                         Letters{"KeyBInASignalFrame", "SB", {11}, true, true},
                                         Letters{"SignalFrameBehindMemoryTagging", "SG", {11}, true, false}),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST(DwarfSession, ReadsACieBehindItsFdeInDebugFrame) {
  const auto bytes = entry_before_its_common();
  const verify::DwarfSession session(verify::CfiKind::DebugFrame, bytes, 0, Endian::Little, origin);
  ASSERT_EQ(session.table().cies.size(), 1U);
  ASSERT_EQ(session.table().fdes.size(), 1U);
  EXPECT_EQ(session.table().fdes[0].function_start, 0x100U);
  EXPECT_EQ(session.table().cies[0].initial_instructions.size(), 7U);
}

TEST(DwarfSession, ReadsBehindZeroLengthsInDebugFrame) {
  for (const auto& bytes : joined_behind_zero_lengths()) {
    const verify::DwarfSession session(verify::CfiKind::DebugFrame, bytes, 0, Endian::Little, origin);
    ASSERT_EQ(session.table().fdes.size(), 2U);
    EXPECT_EQ(session.table().fdes[0].function_start, 0x100U);
    EXPECT_EQ(session.table().fdes[0].instructions.size(), 0U);
    EXPECT_EQ(session.table().fdes[1].function_start, 0x200U);
    ASSERT_EQ(session.table().cies.size(), 2U);
    EXPECT_EQ(session.table().cies[0].initial_instructions.size(), 7U);
    EXPECT_EQ(session.evaluate(1, verify::DwarfSession::cfa_column, 0x20f).offset, 8);
  }
}

/// `front`, two CIEs and their FDEs, without a terminator between them: FDEs name CIEs by distance.
std::vector<std::byte> twice(std::vector<std::byte> front) {
  const auto good = good_section();
  front.resize(0x2c);
  front.insert(front.end(), good.begin(), good.end());
  return front;
}

// One CIE or FDE that libdwarf cannot read would cost all of them. What is left out is not the generator's choice.
TEST(DwarfSession, ReadsPastWhatCannotBeRead) {
  const std::pair<std::size_t, int> pokes[]{
      {8, 7},      // the first CIE's version
      {8, 4},      // which makes its factors the sizes of addresses and segments
      {9, 'X'},    // its augmentation, without 'z'
      {15, 0x40},  // the size of its data
      {16, 0x3b},  // pointers that count from the data segment
      {0x1c, 4},   // an FDE of no CIE
      {0x28, 0x7f},
  };
  for (const auto& [place, value] : pokes) {
    auto bytes = twice(good_section());
    bytes[place] = static_cast<std::byte>(value);
    const verify::DwarfSession session(verify::CfiKind::EhFrame, bytes, section_address, Endian::Little, origin);
    ASSERT_EQ(session.table().fdes.size(), 1U) << place;
    EXPECT_EQ(session.table().fdes[0].section_offset, 0x2cU + 0x18U);
    EXPECT_EQ(session.table().fdes[0].instructions.size(), 3U);
    EXPECT_EQ(session.evaluate(0, verify::DwarfSession::cfa_column, 0x13b).offset, 16);
    // The other way around: the FDE before takes in what stands behind it.
    auto turned = twice(good_section());
    turned[0x2c + place] = static_cast<std::byte>(value);
    const verify::DwarfSession before(verify::CfiKind::EhFrame, turned, section_address, Endian::Little, origin);
    ASSERT_EQ(before.table().fdes.size(), 1U) << place;
    EXPECT_EQ(before.table().fdes[0].section_offset, 0x18U);
    EXPECT_EQ(before.table().fdes[0].instructions.size(), 3U);
    EXPECT_EQ(before.evaluate(0, verify::DwarfSession::cfa_column, 0x10f).offset, 16);
  }
}

TEST(DwarfSession, ReadsPastAnUnknownLetter) {
  const auto bytes = twice(with_letters("X"));
  const verify::DwarfSession session(verify::CfiKind::EhFrame, bytes, section_address, Endian::Little, origin);
  ASSERT_EQ(session.table().fdes.size(), 1U);
  EXPECT_EQ(session.table().fdes[0].section_offset, 0x2cU + 0x18U);
}

// In .debug_frame an FDE may stand before its CIE, and zero lengths behind either.
TEST(DwarfSession, ReadsPastACieBehindItsFdeInDebugFrame) {
  for (const std::size_t zero_lengths : {0U, 1U, 3U}) {
    auto front = entry_before_its_common();
    front[0x18 + 8] = std::byte{7};
    const auto bytes = joined_sections(front, zero_lengths);
    const verify::DwarfSession session(verify::CfiKind::DebugFrame, bytes, 0, Endian::Little, origin);
    ASSERT_EQ(session.table().fdes.size(), 1U);
    EXPECT_EQ(session.table().fdes[0].function_start, 0x200U);
    EXPECT_EQ(session.evaluate(0, verify::DwarfSession::cfa_column, 0x20f).offset, 8);
  }
}

std::string failure_at(const verify::DwarfSession& session, std::size_t fde, std::uint64_t pc) {
  try {
    session.evaluate(fde, verify::DwarfSession::cfa_column, pc);
  } catch (const MalformedInput& error) {
    return error.what();
  }
  return "";
}

// libdwarf would give up on the whole section, or misread the numbers of such a CIE.
TEST(DwarfSession, ReadsPastACieThatLibdwarfDoesNotSupport) {
  auto odd_register = twice(good_section());
  odd_register[14] = std::byte{200};
  auto large_factor = twice(good_section());
  large_factor.insert(large_factor.begin() + 12, std::byte{0x82});  // 3 << 7 | 2
  large_factor[13] = std::byte{3};
  large_factor.erase(large_factor.begin() + 0x17);  // a nop
  const std::pair<std::vector<std::byte>, const char*> sections[]{
      {odd_register, "libdwarf does not support such a return address register"},
      {large_factor, "libdwarf keeps alignment factors in a byte each"},
      {twice(with_letters("S")), nullptr}};
  for (const auto& [bytes, why] : sections) {
    const verify::DwarfSession session(verify::CfiKind::EhFrame, bytes, section_address, Endian::Little, origin);
    ASSERT_EQ(session.table().fdes.size(), 2U);
    EXPECT_EQ(session.table().fdes[0].function_start, 0x100U);
    EXPECT_EQ(session.table().fdes[0].function_size, 0x10U);
    EXPECT_EQ(session.evaluate(1, verify::DwarfSession::cfa_column, 0x13b).offset, 16);
    EXPECT_EQ(failure_at(session, 0, 0x100), why == nullptr ? "" : "file: .eh_frame+0x18: " + std::string(why));
  }
}

TEST(DwarfSession, ReadsPastAugmentationsOfDebugFrame) {
  auto front = entry_before_its_common();
  front.insert(front.begin() + 0x21, std::byte{'S'});  // in place of a nop
  front.pop_back();
  const auto bytes = joined_sections(front, 0);
  const verify::DwarfSession session(verify::CfiKind::DebugFrame, bytes, 0, Endian::Little, origin);
  ASSERT_EQ(session.table().fdes.size(), 2U);
  EXPECT_EQ(session.table().fdes[0].function_start, 0x100U);
  EXPECT_EQ(failure_at(session, 0, 0x100), "file: .eh_frame+0x0: libdwarf does not support augmentations here");
  EXPECT_EQ(session.evaluate(1, verify::DwarfSession::cfa_column, 0x20f).offset, 8);
}

TEST(FrameSectionCheck, NamesAZeroLengthBeforeAllOfDebugFrame) {
  try {
    verify::check_frame_section(verify::CfiKind::DebugFrame, joined_sections({}, 1), 0, Endian::Little, origin);
    FAIL();
  } catch (const MalformedInput& error) {
    EXPECT_STREQ(error.what(), "file: .eh_frame+0x0: length of the first record is zero");
  }
}

TEST(DwarfSession, EvaluatesRows) {
  const auto bytes = good_section();
  const verify::DwarfSession session(verify::CfiKind::EhFrame, bytes, section_address, Endian::Little, origin);
  const verify::EvaluatedRule first = session.evaluate(0, verify::DwarfSession::cfa_column, 0x100);
  EXPECT_EQ(first.base, 7U);
  EXPECT_EQ(first.offset, 8);
  EXPECT_EQ(first.next_row_pc, std::optional<std::uint64_t>(0x101));
  EXPECT_EQ(session.evaluate(0, verify::DwarfSession::cfa_column, 0x10f).offset, 16);
  EXPECT_EQ(session.evaluate(0, 16, 0x10f).offset, -8);
  EXPECT_EQ(session.evaluate(0, 6, 0x10f).base, std::uint64_t{verify::DwarfSession::same_value_column});
}

}  // namespace
}  // namespace sframe_gen::test
