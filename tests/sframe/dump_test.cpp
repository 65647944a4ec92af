#include "sframe/dump.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "sframe/format.hpp"
#include "sframe/good_section.hpp"
#include "sframe/good_versions.hpp"
#include "sframe_gen/section.hpp"

namespace sframe_gen::sframe {
namespace {

std::string dump_text(const Section& section) {
  std::ostringstream out;
  dump(section, ".sframe", out);
  return out.str();
}

/// The line of a dump with `row` as the only row of a function at 0x1000.
std::string line_of(const RecoveryRules& recovery, FdeType type = FdeType::Flexible) {
  Section section;
  section.fixed_ra_offset = -8;
  section.fdes.resize(1);
  section.fdes[0].start = 0x1000;
  section.fdes[0].type = type;
  section.fdes[0].fres = {{0, recovery}};
  const std::string text = dump_text(section);
  return text.substr(text.rfind("    00000"));
}

class Golden : public testing::TestWithParam<const char*> {};

TEST_P(Golden, EqualsReadelf) {
  const std::string name = GetParam();
  const Section section = decode(test::golden_section(name), test::golden_address, {name, ".sframe"});
  EXPECT_EQ(dump_text(section), test::golden_text(name + ".txt"));
}

INSTANTIATE_TEST_SUITE_P(Binutils, Golden, testing::Values("default", "flexible", "stubs"),
                         [](const auto& tested) { return std::string(tested.param); });

class GoldenVersion : public testing::TestWithParam<const char*> {};

TEST_P(GoldenVersion, EqualsReadelf) {
  const std::string name = GetParam();
  const Section section = decode(test::good_version(name), test::good_address, {name, ".sframe"});
  EXPECT_EQ(dump_text(section), test::golden_text(name + ".txt"));
}

INSTANTIATE_TEST_SUITE_P(ByHand, GoldenVersion,
                         testing::Values("v2_amd64", "v2_s390x", "v1_aarch64_be", "v3_aarch64_be", "v3_s390x"),
                         [](const auto& tested) { return std::string(tested.param); });

// No tool ever read it: in readelf's notation, with the names of its own header file.
TEST(Dump, CtfFrame) {
  const Section section =
      decode(test::good_version("ctf_aarch64"), test::good_address, {"a.out", ".ctf_frame"}, {}, Family::CtfFrame);
  std::ostringstream out;
  dump(section, ".ctf_frame", out);
  EXPECT_EQ(out.str(),
            "Contents of the CTF Frame section .ctf_frame:\n  Header :\n\n"
            "    Version: CTF_FRAME_VERSION_1\n"
            "    Flags: CTF_FRAME_F_FDE_SORTED,\n           CTF_FRAME_F_FRAME_POINTER\n"
            "    Num FDEs: 2\n    Num FREs: 5\n\n  Function Index :\n\n"
            "    func idx [0]: pc = 0x1000, size = 24 bytes\n"
            "    STARTPC         CFA       FP        RA           \n"
            "    0000000000001000  sp+0      u         u            \n"
            "    0000000000001004  sp+16     c-16      u            \n"
            "    0000000000001008  fp+32     c-32      c-24         \n\n"
            "    func idx [1]: pc = 0x1040, size = 512 bytes\n"
            "    STARTPC         CFA       FP        RA           \n"
            "    0000000000001040  sp+0      u         u            \n"
            "    0000000000001150  sp+320    u         u            \n");
}

// The rest is what no assembler of today writes; the lines are readelf's on sections made by hand.

TEST(Dump, Flags) {
  Section section;
  EXPECT_NE(dump_text(section).find("    Flags: NONE\n    Num FDEs: 0\n    Num FREs: 0\n\n  Function Index :\n"),
            std::string::npos);
  section.flags = flag::sorted;
  EXPECT_NE(dump_text(section).find("    Flags: SFRAME_F_FDE_SORTED\n"), std::string::npos);
  section.flags = flag::frame_pointer;
  EXPECT_NE(dump_text(section).find("    Flags: SFRAME_F_FRAME_POINTER\n"), std::string::npos);
  section.flags = flag::function_start_pc_relative;
  EXPECT_NE(dump_text(section).find("    Flags: SFRAME_F_FDE_FUNC_START_PCREL\n"), std::string::npos);
}

TEST(Dump, FixedFramePointer) {
  Section section;
  section.fixed_fp_offset = -16;
  section.fdes.resize(1);
  section.fdes[0].fres = {{0, RecoveryRules{.cfa = Rule::register_plus(7, 8)}}};
  const std::string text = dump_text(section);
  EXPECT_NE(text.find("    CFA fixed FP offset: -16\n"), std::string::npos);
  EXPECT_NE(text.find("  sp+8      c-16      u            \n"), std::string::npos);
}

TEST(Dump, SigningKey) {
  Section section;
  section.fdes.resize(1);
  section.fdes[0].signal_frame = true;
  section.fdes[0].b_key = true;
  EXPECT_NE(dump_text(section).find(", size = 0 bytes, attr = \"S\", pauth = B key\n"), std::string::npos);
}

TEST(Dump, SignedReturnAddress) {
  EXPECT_EQ(line_of({.cfa = Rule::register_plus(7, 8), .mangled_ra = true}),
            "    0000000000001000  sp+8      u         f[s]         \n");
  EXPECT_EQ(line_of({.cfa = Rule::at_register(7, 8), .frame_pointer = Rule::at_register(6, 8), .mangled_ra = true}),
            "    0000000000001000  (sp+8)    (fp+8)    U[s]         \n");
  EXPECT_EQ(line_of({.cfa = Rule::at_register(7, -128),
                     .return_address = Rule::at_register(3, 4),
                     .frame_pointer = Rule::at_cfa(8),
                     .mangled_ra = true}),
            "    0000000000001000  (sp-128)  c+8       (r3+4)[s]    \n");
}

TEST(Dump, WideColumnsRunTogether) {
  EXPECT_EQ(line_of({.cfa = Rule::at_register(0, -2147483647 - 1),
                     .return_address = Rule::at_register(536870400, 2147483647)}),
            "    0000000000001000  (r0-2147483648)u         (r536870400+2147483647)   \n");
}

TEST(Dump, NegativeCfaOffset) {
  EXPECT_EQ(line_of({.cfa = Rule::register_plus(7, -240)}),
            "    0000000000001000  sp-240    u         f            \n");
  EXPECT_EQ(line_of({.cfa = Rule::register_plus(7, -8)}, FdeType::Default),
            "    0000000000001000  sp+-8     u         f            \n");
}

}  // namespace
}  // namespace sframe_gen::sframe
