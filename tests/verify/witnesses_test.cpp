// Each witness alone: what it knows, and up to which PC.

#include "verify/witnesses.hpp"

#include <gtest/gtest.h>

#include "support/places.hpp"

namespace sframe_gen::test {
namespace {

using sframe::RecoveryRules;
using sframe::Rule;
using verify::DwarfWitness, verify::Testimony, verify::GoFrames, verify::GoWitness, verify::InstructionWitness,
    verify::JudgedRow, verify::PaddingWitness;

/// corpus/amd64/gaps: 9 bytes of a function with CFI at 0x10000, 3 without, padding, and a function with CFI at
/// 0x10040. The witnesses of it, and one row, CFA = rsp + 8 from 0x10000 on.
class Witnesses : public testing::Test {
 protected:
  static inline const elf::Image image =
      elf::Image::open(sframe_gen::test::source_folder() + "/corpus/amd64/gaps/plain.elf");

  static sframe::Section section_of_one_row() {
    sframe::Section section;
    section.fixed_ra_offset = -8;
    sframe::Fde& fde = section.fdes.emplace_back();
    fde.start = 0x10000;
    fde.size = 0x41;
    fde.fres = {{0, RecoveryRules{.cfa = Rule::register_plus(7, 8)}}};
    return section;
  }
  std::optional<std::uint64_t> judge(auto& witness, std::uint64_t begin, std::uint64_t end) {
    return witness.judge(row, {begin, end}, testimony);
  }

  const sframe::Section section = section_of_one_row();
  const JudgedRow row{section.fdes[0].fres[0].recovery, section.fdes[0], section, {0x10000, 0x10041}};
  DwarfWitness dwarf{image, image};
  const GoFrames no_go{image, sframe::traits_of(section.abi)};
  InstructionWitness instructions{section, image, {}, dwarf};
  GoWitness go{no_go, dwarf};
  PaddingWitness padding{image, instructions, no_go, dwarf};
  Testimony testimony;
};

TEST_F(Witnesses, OfDwarfJudgeUpToTheNextRowOfTheFde) {
  EXPECT_EQ(judge(dwarf, 0x10000, 0x10041), 0x10004U);
  EXPECT_EQ(testimony.result.difference_count, 0U);
  EXPECT_GT(testimony.result.checked_pcs, 0U);
}
TEST_F(Witnesses, OfDwarfJudgeNoFurtherThanTheyAreAsked) {
  EXPECT_EQ(judge(dwarf, 0x10000, 0x10002), 0x10002U);
}
TEST_F(Witnesses, KnowNothingOfCodeThatIsNotTheirs) {
  EXPECT_EQ(judge(instructions, 0x10000, 0x10041), std::nullopt);
  EXPECT_EQ(judge(go, 0x10000, 0x10041), std::nullopt);
  EXPECT_EQ(judge(dwarf, 0x10009, 0x10041), std::nullopt);
  EXPECT_EQ(judge(padding, 0x10009, 0x10040), std::nullopt);  // three bytes of code begin there
  EXPECT_EQ(testimony.result.checked_pcs, 0U);
  EXPECT_EQ(testimony.result.difference_count, 0U);
}
TEST_F(Witnesses, OfPaddingJudgeUpToTheNextFunction) {
  EXPECT_EQ(judge(padding, 0x1000c, 0x10040), 0x10040U);
  EXPECT_EQ(testimony.result.padding_bytes, 0x34U);
}
TEST_F(Witnesses, OfPaddingAcceptNoRowThatBeginsThere) {
  const JudgedRow late{row.recovery, row.fde, section, {0x1000c, 0x10040}};
  EXPECT_EQ(padding.judge(late, late.pcs, testimony), std::nullopt);
}

}  // namespace
}  // namespace sframe_gen::test
