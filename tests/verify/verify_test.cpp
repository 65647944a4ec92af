// A verifier that cannot fail proves nothing: each wrong row below must be seen.

#include "verify/verify.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include "support/places.hpp"

namespace sframe_gen::test {
namespace {

using sframe::FdeType;
using sframe::Fre;
using sframe::PcType;
using sframe::RecoveryRules;
using sframe::Rule;

elf::Image corpus_image(const std::string& name) {
  return elf::Image::open(sframe_gen::test::source_folder() + "/corpus/amd64/" + name + "/plain.elf");
}

/// corpus/amd64/frame-pointer (14 bytes at 0x10000: push rbp; mov; …; pop rbp; ret), as its ours.txt has it.
sframe::Section right_section() {
  const Rule saved{std::nullopt, -16, true};
  sframe::Section section;
  section.fixed_ra_offset = -8;
  section.fdes = {{0x10000,
                   14,
                   false,
                   false,
                   PcType::Increment,
                   0,
                   FdeType::Default,
                   {{0, RecoveryRules{.cfa = Rule::register_plus(7, 8)}},
                    {1, RecoveryRules{Rule::register_plus(7, 16), {}, saved, false}},
                    {4, RecoveryRules{Rule::register_plus(6, 16), {}, saved, false}},
                    {13, RecoveryRules{Rule::register_plus(7, 8), {}, saved, false}}}}};
  return section;
}

Verification verified(const sframe::Section& section, const std::string& name = "frame-pointer") {
  const elf::Image image = corpus_image(name);
  return verify::verify(section, image, image, [](std::uint64_t, std::uint64_t) {});
}

/// The first difference after `change` to the right section.
std::string difference(const std::function<void(sframe::Fde&)>& change) {
  sframe::Section section = right_section();
  change(section.fdes[0]);
  const Verification result = verified(section);
  EXPECT_EQ(result.difference_count > 0, !result.differences.empty());
  return result.differences.empty() ? "none" : text_of(result.differences[0]);
}

TEST(Verify, TakesTheRightSection) {
  const Verification result = verified(right_section());
  EXPECT_EQ(result.difference_count, 0U);
  EXPECT_EQ(result.rows, 4U);
  EXPECT_EQ(result.checked_pcs, 6U);  // two rows cover one byte each
  EXPECT_EQ(result.claimed_bytes, 14U);
  EXPECT_EQ(result.described_bytes, 14U);
  EXPECT_EQ(result.left_out_rows, 0U);
}

TEST(Verify, SeesAWrongCfaOffset) {
  EXPECT_EQ(difference([](auto& f) { f.fres[1].recovery->cfa.offset = 24; }),
            "pc 0x10001: .sframe says CFA rsp+24, RA *(CFA-8), FP *(CFA-16); DWARF says CFA rsp+16, RA *(CFA-8), FP "
            "*(CFA-16)");
}
TEST(Verify, SeesAWrongCfaBase) {
  EXPECT_NE(difference([](auto& f) { f.fres[2].recovery->cfa.base_register = 7; }).find("CFA rsp+16"),
            std::string::npos);
}
TEST(Verify, SeesALoadTooMany) {
  EXPECT_NE(difference([](auto& f) { f.fres[2].recovery->cfa.dereferenced = true; }), "none");
}
TEST(Verify, SeesAMissingFpRule) {
  EXPECT_NE(difference([](auto& f) { f.fres[1].recovery->frame_pointer.reset(); }), "none");
}
TEST(Verify, SeesAWrongFpRule) {
  EXPECT_NE(difference([](auto& f) { f.fres[1].recovery->frame_pointer->offset = -24; }), "none");
}
TEST(Verify, SeesAnFpRuleTooMany) {
  EXPECT_NE(difference([](auto& f) { f.fres[0].recovery->frame_pointer = Rule::at_cfa(-16); }), "none");
}
TEST(Verify, SeesAWrongRaRule) {
  EXPECT_NE(difference([](auto& f) { f.fres[0].recovery->return_address = Rule::at_cfa(-16); }), "none");
}
TEST(Verify, TakesTheFixedRaSpelledOut) {
  EXPECT_EQ(difference([](auto& f) { f.fres[0].recovery->return_address = Rule::at_cfa(-8); }), "none");
}
TEST(Verify, SeesAFalseOutermostFrame) {
  EXPECT_NE(difference([](auto& f) { f.fres[2].recovery.reset(); }).find("RA undefined"), std::string::npos);
}
TEST(Verify, SeesARowThatStartsLate) {
  EXPECT_NE(difference([](auto& f) { f.fres[1].pc_offset = 2; }).find("pc 0x10001"), std::string::npos);
}
TEST(Verify, SeesARowThatStartsEarly) {
  EXPECT_NE(difference([](auto& f) { f.fres[2].pc_offset = 3; }).find("pc 0x10003"), std::string::npos);
}
TEST(Verify, SeesAMissingRow) {
  EXPECT_NE(difference([](auto& f) { f.fres.pop_back(); }).find("pc 0x1000d"), std::string::npos);
}
TEST(Verify, SeesRowsWhereDwarfSaysNothing) {
  EXPECT_EQ(difference([](auto& f) { f.start = 0x10000 - 14; }),
            "pc 0xfff2: .sframe describes 0xe bytes from here, which are not code");
}
TEST(Verify, SeesAFunctionTooLong) {
  EXPECT_NE(difference([](auto& f) { f.size = 15; }), "none");
}

TEST(Verify, NamesTheSectionOfCtfFrame) {
  sframe::Section section = right_section();
  section.version = sframe::Version::CtfFrame;
  section.fdes[0].fres[1].recovery->cfa.offset = 24;
  const Verification result = verified(section);
  ASSERT_FALSE(result.differences.empty());
  EXPECT_NE(text_of(result.differences[0]).find("pc 0x10001: .ctf_frame says CFA rsp+24"), std::string::npos);
}

TEST(Verify, SeesAWrongFixedRa) {
  sframe::Section section = right_section();
  section.fixed_ra_offset = -16;
  EXPECT_GT(verified(section).difference_count, 0U);
}

TEST(Verify, SeesAFalseOutermostFrameWithoutRows) {
  EXPECT_NE(difference([](auto& f) { f.fres.clear(); }), "none");
}

/// corpus/amd64/plt-entries: three entries at 0x10000, whose CFA depends on the PC. Between their ends it changes.
sframe::Section plt_section(PcType pc_type, std::uint8_t repeat_size, std::vector<Fre> rows) {
  sframe::Section section;
  section.fixed_ra_offset = -8;
  section.fdes = {{0x10000, 48, false, false, pc_type, repeat_size, FdeType::Default, std::move(rows)}};
  return section;
}
const Fre before_push{0, RecoveryRules{.cfa = Rule::register_plus(7, 8)}};
const Fre behind_push{11, RecoveryRules{.cfa = Rule::register_plus(7, 16)}};

TEST(VerifyPlt, TakesTheRightBlock) {
  const auto result = verified(plt_section(PcType::Mask, 16, {before_push, behind_push}), "plt-entries");
  EXPECT_EQ(result.difference_count, 0U);
  EXPECT_EQ(result.checked_pcs, 48U);
}
TEST(VerifyPlt, SeesABlockOfAnotherSize) {
  EXPECT_GT(verified(plt_section(PcType::Mask, 32, {before_push, behind_push}), "plt-entries").difference_count, 0U);
}
TEST(VerifyPlt, SeesARowThatIsRightAtBothEnds) {
  sframe::Section section = plt_section(PcType::Increment, 0, {before_push});
  section.fdes[0].size = 21;
  EXPECT_GT(verified(section, "plt-entries").difference_count, 0U);
}

// corpus/amd64/gaps: after 9 bytes of a function with CFI come 3 without, padding, and another with CFI at 0x10040.
class VerifyCodeWithoutCfi : public testing::Test {
 protected:
  static Verification verified_against(const sframe::Section& section, const elf::Image& cfi_image) {
    return verify::verify(section, image(), cfi_image, {});
  }
  static const elf::Image& image() {
    static const elf::Image image = corpus_image("gaps");
    return image;
  }
  static sframe::Section rows_without_cfi() {
    sframe::Section section = right_section();
    section.fdes[0].fres.resize(1);
    section.fdes[0].size = 3;
    section.fdes.push_back(sframe::Fde(section.fdes[0]));
    section.fdes[0].start = 0x10009;
    section.fdes[1].start = 0x10040;
    return section;
  }
};

// Its .debug_frame may have been stripped.
TEST_F(VerifyCodeWithoutCfi, DoesNotVouchForARowNorCallItWrong) {
  const Verification result = verified_against(rows_without_cfi(), image());
  EXPECT_EQ(result.difference_count, 0U);
  EXPECT_EQ(result.unchecked_count, 1U);
  EXPECT_EQ(result.checked_pcs, 2U);  // of the other function
  ASSERT_EQ(result.unchecked.size(), 1U);
  EXPECT_EQ(
      text_of(result.unchecked[0]),
      "pc 0x10009: cannot be checked: no FDE describes this PC, there is no .debug_frame, and the instructions prove "
      "no such row (if the file was stripped, name the debug file with --cfi-from)");
}
TEST_F(VerifyCodeWithoutCfi, ChecksTheRestOfARow) {
  sframe::Section section = rows_without_cfi();
  section.fdes.resize(1);
  section.fdes[0].size = 0x3a;  // up to the end of the next function
  section.fdes[0].fres[0].recovery->cfa.offset = 24;
  const Verification result = verified_against(section, image());
  EXPECT_EQ(result.unchecked_count, 1U);
  ASSERT_EQ(result.difference_count, 1U);
  EXPECT_NE(text_of(result.differences[0]).find("pc 0x10040: .sframe says CFA rsp+24"), std::string::npos);
}
TEST_F(VerifyCodeWithoutCfi, NamesThemOnce) {
  sframe::Section section = rows_without_cfi();
  section.fdes[0].size = 1;
  section.fdes.push_back(sframe::Fde(section.fdes[0]));
  section.fdes.back().start = 0x1000a;
  const Verification result = verified_against(section, image());
  EXPECT_EQ(result.unchecked_count, 2U);
  EXPECT_EQ(result.unchecked.size(), 1U);
}
TEST_F(VerifyCodeWithoutCfi, SeesARowThatTheDebugFileDoesNotHave) {
  const elf::Image debug_file = corpus_image("gaps");
  const Verification result = verified_against(rows_without_cfi(), debug_file);
  EXPECT_EQ(result.unchecked_count, 0U);
  ASSERT_EQ(result.difference_count, 1U);
  EXPECT_EQ(text_of(result.differences[0]), "pc 0x10009: .sframe has a row, but no FDE describes this PC");
}

TEST(Verify, CountsWhatIsLeftOut) {
  sframe::Section section = right_section();
  section.fdes[0].size = 4;
  section.fdes[0].fres.resize(2);
  const Verification result = verified(section);
  EXPECT_EQ(result.difference_count, 0U);
  EXPECT_EQ(result.claimed_bytes, 4U);
  EXPECT_EQ(result.described_bytes, 14U);
  EXPECT_EQ(result.left_out_rows, 1U);
}

TEST(Verify, SeesAClaimWhereRaIsUndefined) {
  sframe::Section section = right_section();
  section.fdes[0].size = 1;
  section.fdes[0].fres.resize(1);
  const Verification result = verified(section, "undefined-ra");
  ASSERT_FALSE(result.differences.empty());
  EXPECT_NE(text_of(result.differences[0]).find("DWARF says RA undefined"), std::string::npos);
}

TEST(Verify, SeesAClaimWhereSpIsSavedElsewhere) {
  sframe::Section section = right_section();
  section.fdes[0].start = 0x10009;
  section.fdes[0].size = 9;
  section.fdes[0].fres.resize(1);
  section.fdes[0].fres[0].recovery->cfa.offset = 32;
  const Verification result = verified(section, "offset-sp");
  ASSERT_FALSE(result.differences.empty());
  EXPECT_NE(text_of(result.differences[0]).find("SP *(CFA"), std::string::npos) << text_of(result.differences[0]);
}

TEST(Verify, GoesOnWhereLibdwarfCannotEvaluate) {
  // An FDE with a register beyond libdwarf's table, patched into the corpus file: DW_CFA_undefined of register 999.
  std::ifstream stream(sframe_gen::test::source_folder() + "/corpus/amd64/frame-pointer/plain.elf", std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(stream)), {});
  const std::size_t saves_rbp = bytes.find("\x0e\x10\x86\x02");  // def_cfa_offset 16; offset rbp
  ASSERT_NE(saves_rbp, std::string::npos);
  bytes.replace(saves_rbp, 3, "\x07\xe7\x07", 3);
  bytes[saves_rbp + 3] = 0;
  const std::string path = testing::TempDir() + "/sframe-gen-verify-test.elf";
  std::ofstream(path, std::ios::binary) << bytes;
  const elf::Image image = elf::Image::open(path);
  const Verification result = verify::verify(right_section(), image, image, [](std::uint64_t, std::uint64_t) {});
  std::filesystem::remove(path);
  EXPECT_EQ(result.rows, 4U);
  EXPECT_GT(result.unchecked_count, 0U);
  EXPECT_EQ(result.difference_count, 0U);
  EXPECT_TRUE(result.differences.empty());
  ASSERT_EQ(result.unchecked.size(), 1U);  // however many rows the FDE has
  const std::string said = text_of(result.unchecked[0]);
  EXPECT_TRUE(
      said.starts_with("pc 0x10001: cannot be checked: " + path + ": .eh_frame+0x18: libdwarf cannot read it: "))
      << said;
  EXPECT_EQ(result.claimed_bytes, 14U);
}

TEST(Verify, RefusesAFileWithoutSframe) {
  const elf::Image image = corpus_image("frame-pointer");
  EXPECT_THROW(verify::verify(image, image, [](std::uint64_t, std::uint64_t) {}), Refused);
}

}  // namespace
}  // namespace sframe_gen::test
