// The index of a section, and sections that a reader must not trust: one good .eh_frame, one poked field per case, one
// expected sentence per case: why the section cannot be followed, or its FDE cannot be read.

#include "cfi/frame_index.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <span>

#include "cfi/frame_sections.hpp"

namespace sframe_gen::test {
namespace {

std::string error_of(const std::vector<std::byte>& bytes) {
  try {
    const cfi::FrameTable table =
        cfi::index_frame_section(cfi::FrameSection::EhFrame, bytes, section_address, Endian::Little, origin);
    EXPECT_EQ(table.unreadable_count, table.unreadable.size());
    if (!table.unreadable.empty()) return "left out: " + table.unreadable[0].why;
  } catch (const MalformedInput& error) {
    return error.what();
  }
  return "sound";
}

struct Poke {
  const char* name;
  std::size_t offset;
  int value;
  const char* expected;
};

class PokedSection : public testing::TestWithParam<Poke> {};

TEST_P(PokedSection, IsNamed) {
  auto bytes = good_section();
  bytes[GetParam().offset] = static_cast<std::byte>(GetParam().value);
  EXPECT_EQ(error_of(bytes), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    EhFrame, PokedSection,
    testing::Values(
        Poke{"LengthBeyondTheSection", 0, 0x2d,
             "file: .eh_frame+0x0: record of 45 bytes does not fit in the section (44 bytes left)"},
        Poke{"ReservedLength", 3, 0xff,
             "file: .eh_frame+0x0: record of 4278190100 bytes does not fit in the section (44 bytes left)"},
        Poke{"FdeTooShortForTheNextRecord", 0x18, 0x08,
             "file: .eh_frame+0x24: record of 16 bytes does not fit in the section (8 bytes left)"},
        Poke{"Version", 8, 2, "left out: .eh_frame+0x8: CIE version is 2, not 1, 3 or 4"},
        Poke{"AddressSize", 8, 4, "left out: .eh_frame+0xc: address size is 1, not 8"},
        Poke{"Augmentation", 9, 'X', "left out: .eh_frame+0x9: CIE augmentation is unknown"},
        Poke{"AugmentationSize", 15, 0x40,
             "left out: .eh_frame+0x10: augmentation data needs 64 bytes, but only 8 are left"},
        Poke{"PointerFormat", 16, 0x17,
             "left out: .eh_frame+0x20: function start has pointer format 0x7, which is undefined"},
        Poke{"PointerApplication", 16, 0x3b,
             "left out: .eh_frame+0x20: function start has pointer encoding 0x3b, which is neither absolute nor "
             "pc-relative"},
        Poke{"CieOutside", 0x1c, 0x44,
             "left out: .eh_frame+0x18: FDE refers to a CIE at 0xffffffffffffffd8, which is outside the section"},
        Poke{"CieIsNone", 0x1c, 0x18,
             "left out: .eh_frame+0x18: FDE refers to a CIE at 0x4, which is not a CIE before it"},
        Poke{"FdeAugmentationSize", 0x28, 0x7f,
             "left out: .eh_frame+0x29: augmentation data needs 127 bytes, but only 3 are left"}),
    [](const auto& instance) { return std::string(instance.param.name); });

TEST(FrameIndex, TakesTheGoodOne) {
  EXPECT_EQ(error_of(good_section()), "sound");
}

// An FDE in front of all CIEs, whose own is at the highest offset: no place is that of a CIE that has been looked up.
TEST(FrameIndex, NamesAnFdeOfNoCieThatComesFirst) {
  const Bytes first{0x04, 0, 0, 0, 0x05, 0, 0, 0};
  const std::vector<std::byte> bytes(first.span().begin(), first.span().end());
  EXPECT_EQ(error_of(bytes),
            "left out: .eh_frame+0x0: FDE refers to a CIE at 0xffffffffffffffff, which is outside the section");
}

// The same behind a CIE that no FDE has named yet: it is not that one's either.
TEST(FrameIndex, NamesAnFdeOfNoCieBehindOne) {
  auto bytes = good_section();
  bytes[0x1c] = std::byte{0x1d};
  EXPECT_EQ(error_of(bytes),
            "left out: .eh_frame+0x18: FDE refers to a CIE at 0xffffffffffffffff, which is outside the section");
}

TEST(FrameIndex, NamesAnFdeThatIsTooShort) {
  auto bytes = good_section();
  bytes[0x18] = std::byte{8};
  bytes.erase(bytes.begin() + 0x24, bytes.begin() + 0x2c);
  EXPECT_EQ(error_of(bytes), "left out: .eh_frame+0x24: function size needs 4 bytes, but only 0 are left");
}

// Damage costs what it is in.
TEST(FrameIndex, GoesOnBehindARecordThatCannotBeRead) {
  auto bytes = good_section();
  const auto good = good_section();
  bytes.resize(0x2c);
  bytes[8] = std::byte{7};                              // version of the first CIE
  bytes.insert(bytes.end(), good.begin(), good.end());  // FDEs name CIEs by distance
  const cfi::FrameTable table =
      cfi::index_frame_section(cfi::FrameSection::EhFrame, bytes, section_address, Endian::Little, origin);
  ASSERT_EQ(table.fdes.size(), 1U);
  EXPECT_EQ(table.fdes[0].section_offset, 0x2cU + 0x18U);
  ASSERT_EQ(table.unreadable.size(), 1U);
  EXPECT_EQ(table.unreadable[0].offset, 0x18U);
  EXPECT_EQ(table.unreadable[0].section, ".eh_frame");
}

TEST(FrameIndex, ReadsWhereAnFdeIsBehindAnUnknownLetter) {
  const auto bytes = with_letters("X");
  const cfi::FrameTable table =
      cfi::index_frame_section(cfi::FrameSection::EhFrame, bytes, section_address, Endian::Little, origin);
  ASSERT_EQ(table.cies.size(), 1U);
  EXPECT_TRUE(table.cies[0].has_unknown_letters);
  EXPECT_EQ(table.cies[0].pointer_encoding, 0x1b);
  ASSERT_EQ(table.fdes.size(), 1U);
  EXPECT_EQ(table.fdes[0].function_start, 0x100U);
  // If the unknown letter's data come first, it is not known where those of 'R' begin.
  auto behind = bytes;
  std::swap(behind[10], behind[11]);
  EXPECT_EQ(error_of(behind),
            "left out: .eh_frame+0x11: FDE pointer encoding follows augmentation data of unknown size");
}

TEST(FrameIndex, StopsAtTheTerminator) {
  auto bytes = good_section();
  bytes.insert(bytes.end(), {std::byte{1}, std::byte{2}, std::byte{3}});
  EXPECT_EQ(error_of(bytes), "sound");
}

TEST(FrameIndex, EveryTruncationIsSoundOrNamed) {
  const auto good = good_section();
  for (std::size_t size = 0; size < good.size(); ++size) {
    const std::vector<std::byte> cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size));
    const bool at_a_boundary = size == 0 || size == 0x18 || size == 0x2c;
    EXPECT_EQ(error_of(cut) == "sound", at_a_boundary) << size;
  }
}

TEST(FrameIndex, ReadsTheGoodOne) {
  const auto bytes = good_section();
  const cfi::FrameTable table =
      cfi::index_frame_section(cfi::FrameSection::EhFrame, bytes, section_address, Endian::Little, origin);
  ASSERT_EQ(table.cies.size(), 1U);
  EXPECT_EQ(table.cies[0].data_alignment, -8);
  EXPECT_EQ(table.cies[0].pointer_encoding, 0x1b);
  EXPECT_FALSE(table.cies[0].signal_frame);
  ASSERT_EQ(table.fdes.size(), 1U);
  EXPECT_EQ(table.fdes[0].function_start, 0x100U);
  EXPECT_EQ(table.fdes[0].function_size, 0x10U);
  EXPECT_EQ(table.fdes[0].section_offset, 0x18U);
}

struct Letters {
  const char* name;
  const char* letters;  ///< each is inserted before the ones already there
  bool signal_frame, b_key;
};

class AugmentationLetters : public testing::TestWithParam<Letters> {};

TEST_P(AugmentationLetters, AreRead) {
  const Letters& tested = GetParam();
  const auto bytes = with_letters(tested.letters);
  const cfi::FrameTable table =
      cfi::index_frame_section(cfi::FrameSection::EhFrame, bytes, section_address, Endian::Little, origin);
  ASSERT_EQ(table.cies.size(), 1U);
  EXPECT_EQ(table.cies[0].signal_frame, tested.signal_frame);
  EXPECT_EQ(table.cies[0].b_key, tested.b_key);
  EXPECT_EQ(table.cies[0].pointer_encoding, 0x1b);
  ASSERT_EQ(table.fdes.size(), 1U);
  EXPECT_EQ(table.fdes[0].function_start, 0x100U);
}

INSTANTIATE_TEST_SUITE_P(EhFrame, AugmentationLetters,
                         testing::Values(Letters{"SignalFrame", "S", true, false}, Letters{"KeyB", "B", false, true},
                                         Letters{"MemoryTagging", "G", false, false},
                                         Letters{"KeyBInASignalFrame", "SB", true, true},
                                         Letters{"SignalFrameBehindMemoryTagging", "SG", true, false}),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST(FrameIndex, ReadsACieBehindItsFdeInDebugFrame) {
  const auto bytes = entry_before_its_common();
  const cfi::FrameTable table =
      cfi::index_frame_section(cfi::FrameSection::DebugFrame, bytes, 0, Endian::Little, origin);
  ASSERT_EQ(table.cies.size(), 1U);
  ASSERT_EQ(table.fdes.size(), 1U);
  EXPECT_EQ(table.fdes[0].function_start, 0x100U);
  EXPECT_EQ(table.cies[0].initial_instructions.size(), 7U);
}

TEST(FrameIndex, ReadsBehindZeroLengthsInDebugFrame) {
  for (const auto& bytes : joined_behind_zero_lengths()) {
    const cfi::FrameTable table =
        cfi::index_frame_section(cfi::FrameSection::DebugFrame, bytes, 0, Endian::Little, origin);
    ASSERT_EQ(table.fdes.size(), 2U);
    EXPECT_EQ(table.fdes[0].function_start, 0x100U);
    EXPECT_EQ(table.fdes[0].size_of_instructions, 0U);
    EXPECT_EQ(table.fdes[1].function_start, 0x200U);
    ASSERT_EQ(table.cies.size(), 2U);
    EXPECT_EQ(table.cies[0].initial_instructions.size(), 7U);
  }
}

TEST(FrameIndex, PassesOverZeroLengthsBeforeAllOfDebugFrame) {
  const auto bytes = joined_sections({}, 2);
  const cfi::FrameTable table =
      cfi::index_frame_section(cfi::FrameSection::DebugFrame, bytes, 0, Endian::Little, origin);
  ASSERT_EQ(table.fdes.size(), 1U);
  EXPECT_EQ(table.fdes[0].function_start, 0x200U);
}

// GNU as writes it for signal frames.
TEST(FrameIndex, ReadsASignalFrameWithoutAugmentationData) {
  auto bytes = joined_sections({}, 0);
  bytes.insert(bytes.begin() + 9, std::byte{'S'});
  bytes.erase(bytes.begin() + 0x14);  // a nop at the CIE's end
  const cfi::FrameTable table =
      cfi::index_frame_section(cfi::FrameSection::DebugFrame, bytes, 0, Endian::Little, origin);
  ASSERT_EQ(table.cies.size(), 1U);
  EXPECT_TRUE(table.cies[0].signal_frame);
  ASSERT_EQ(table.fdes.size(), 1U);
  EXPECT_EQ(table.fdes[0].function_start, 0x200U);
}

TEST(FrameIndex, KeepsTheOrderOfTheSection) {
  auto bytes = good_section();
  const std::vector<std::byte> fde(bytes.begin() + 0x18, bytes.begin() + 0x2c);
  bytes.insert(bytes.begin() + 0x2c, fde.begin(), fde.end());
  bytes[0x2c + 4] = std::byte{0x30};
  bytes[0x2c + 8] = std::byte{0xa0};  // 20 bytes further, and 0x54 back
  const cfi::FrameTable table =
      cfi::index_frame_section(cfi::FrameSection::EhFrame, bytes, section_address, Endian::Little, origin);
  ASSERT_EQ(table.fdes.size(), 2U);
  EXPECT_EQ(table.fdes[0].function_start, 0x100U);
  EXPECT_EQ(table.fdes[1].function_start, 0xd4U);
  EXPECT_EQ(table.fdes[1].section_offset, 0x2cU);
}

// Offsets of FDEs have 32 bits: no program has a section as large. Of this one, only the pages with records take
// memory.
TEST(FrameIndex, LeavesOutAnFdeAfterTheFirst4GiB) {
  constexpr std::size_t size = (std::size_t{4} << 30U) + 4096, second_cie = 0xffffff00, fde_size = 0x14, fdes = 12;
  void* const memory =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const std::span section(static_cast<std::byte*>(memory), size);
  const auto good = good_section();
  const std::span cie = std::span(good).first(0x18), fde = std::span(good).subspan(0x18, fde_size);
  // The first record is of 64-bit form, and reaches to the second CIE.
  store<std::uint32_t>(section, UINT32_MAX, Endian::Little);
  store<std::uint64_t>(section.subspan(4), second_cie - 12, Endian::Little);
  std::ranges::copy(cie, section.subspan(second_cie).begin());
  for (std::size_t i = 0; i < fdes; ++i) {
    const std::size_t at = second_cie + cie.size() + i * fde_size;
    std::ranges::copy(fde, section.subspan(at).begin());
    store(section.subspan(at + 4), static_cast<std::uint32_t>(at + 4 - second_cie), Endian::Little);
  }
  const cfi::FrameTable table =
      cfi::index_frame_section(cfi::FrameSection::EhFrame, section, section_address, Endian::Little, origin);
  EXPECT_EQ(table.fdes.size(), fdes - 1);
  EXPECT_EQ(table.fdes.back().section_offset, 0xffffffe0U);
  EXPECT_EQ(table.instructions_of(table.fdes.back()).data(), &section[0xffffffe0 + 0x11]);
  ASSERT_EQ(table.unreadable.size(), 1U);
  EXPECT_EQ(table.unreadable[0].why, ".eh_frame+0xfffffff4: FDE ends after the first 4 GiB");
  ::munmap(memory, size);
}

TEST(FrameIndex, NamesAnFdeOfDebugFrameWithoutACie) {
  auto bytes = entry_before_its_common();
  bytes[4] = std::byte{0x1c};
  const cfi::FrameTable table =
      cfi::index_frame_section(cfi::FrameSection::DebugFrame, bytes, 0, Endian::Little, origin);
  EXPECT_TRUE(table.fdes.empty());
  ASSERT_EQ(table.unreadable.size(), 1U);
  EXPECT_EQ(table.unreadable[0].why, ".eh_frame+0x0: FDE refers to a CIE at 0x1c, which is not a CIE");
}

}  // namespace
}  // namespace sframe_gen::test
