// Sound sections with one field changed, and what walkers make of them: no such reader runs in a test. tests/gnu/check
// asks the tools, and tools/glibc-backtrace glibc's reader.

#include "readers/judge.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <set>
#include <span>
#include <string>

#include "readers/survey.hpp"
#include "sframe/good_section.hpp"
#include "sframe/good_versions.hpp"
#include "sframe_gen/check.hpp"

namespace sframe_gen::readers {
namespace {

using sframe::test::bytes_of;
using sframe::test::good_address;

struct Case {
  const char* name;
  const char* section;  ///< "" is the one of good_section.hpp
  std::size_t offset;
  const char* bytes;
  const char* reader;
  ReaderVerdict::Kind kind;
  const char* why;
};

void PrintTo(const Case& one, std::ostream* out) {
  *out << one.name;
}

constexpr auto accepts = ReaderVerdict::Kind::Accepts;
constexpr auto refuses = ReaderVerdict::Kind::Refuses;
constexpr auto misreads = ReaderVerdict::Kind::Misreads;

constexpr Case cases[]{
    {"Sound", "", 0, "", "kernel", accepts, ""},
    {"Magic", "", 0, "00", "kernel", refuses,
     "magic number is 0xde00, but SFrame has 0xdee2 (.sframe+0x0); kernel asks for it"},
    {"Version4", "", 2, "04", "kernel", refuses,
     "it has version 4, which is not known (.sframe+0x2); kernel supports only version 3"},
    {"Unsorted", "", 3, "04", "kernel", refuses,
     "its index is not flagged as sorted (.sframe+0x3); kernel searches only a sorted index"},
    {"StartsFromSection", "", 3, "01", "kernel", refuses,
     "function starts are relative to the section (.sframe+0x3); kernel supports only starts relative to their fields"},
    {"FixedRa", "", 6, "f0", "kernel", misreads,
     "fixed RA offset is -16, but the ABI's is -8 (.sframe+0x6); kernel trusts the header"},
    {"AuxiliaryHeader", "", 7, "01", "kernel", refuses,
     "it has an auxiliary header (.sframe+0x7); kernel supports none"},
    {"NoFunctions", "", 8, "00", "kernel", refuses, "it has no functions (.sframe+0x8); kernel has no use for that"},
    {"NoRows", "", 0xc, "00", "kernel", refuses, "it has no rows (.sframe+0xc); kernel has no use for that"},
    {"IndexOutside", "", 0xa, "ff", "kernel", refuses,
     "16711683 FDEs at 0x1c end outside the section (section size 136) (.sframe+0x8); kernel checks "
     "that"},
    {"RowsOutside", "", 0x10, "3d", "kernel", refuses,
     "61 bytes of rows at 0x4c end outside the section (section size 136) (.sframe+0x10); kernel checks that"},
    {"RowsInIndex", "", 0x18, "2f", "kernel", refuses,
     "rows start at 0x4b, but the function index ends at 0x4c (.sframe+0x18); kernel supports only rows after the "
     "index"},
    {"EqualStarts", "", 0x2c, "d4 ef", "kernel", refuses,
     "FDE 2 starts where the one before it does (.sframe+0x2c); kernel refuses that if it was built with "
     "CONFIG_SFRAME_VALIDATION"},
    {"RowsOutsideOfFunction", "", 0x28, "39", "kernel", refuses,
     "FDE 1: function's rows are at 0x39, but the rows have only 56 bytes (.sframe+0x28); kernel drops the "
     "whole section when it comes there"},
    {"RowTwice", "", 0x54, "00", "kernel", refuses,
     "row 2 of FDE 1: row starts at 0x0, not after the row before it, which starts at 0x0 (.sframe+0x54); "
     "kernel drops the whole section when "
     "it comes there"},
    {"RowAtEnd", "", 0x5c, "07", "kernel", refuses,
     "row 4 of FDE 1: row starts at 0x7, but the function's size is 0x7 (.sframe+0x5c); kernel drops the whole "
     "section when it comes there"},
    {"FixedFp", "", 5, "f0", "kernel", refuses,
     "row 2 of FDE 1 has more data words than the header's fixed offsets leave (.sframe+0x55); kernel drops the "
     "whole section when it comes there"},
    {"FunctionWithoutRows", "", 0x5f, "00", "kernel", refuses,
     "FDE 2 has no rows (.sframe+0x2c); kernel drops the whole section when it comes there"},
    {"MoreRowsThanBytes", "", 0x24, "00", "kernel", refuses,
     "FDE 1 has more rows than bytes (.sframe+0x1c); kernel drops the whole section when it comes there"},
    {"FirstRowLate", "", 0x64, "01", "kernel", refuses,
     "row 1 of FDE 2 starts after its function, which has none before (.sframe+0x65); kernel drops the whole "
     "section when it comes there"},
    {"RowBeyondBlock", "", 0x67, "10", "kernel", refuses,
     "row 2 of FDE 2: row starts at 0x10, but the repeated block's size is 0x10 (.sframe+0x67); kernel drops "
     "the "
     "whole section when it comes there"},
    {"ReservedControlBit", "", 0x71, "3d", "kernel", refuses,
     "row 1 of FDE 3: CFA control word 0x3d has the reserved bit set (.sframe+0x71); kernel drops the whole "
     "section when it comes there"},
    {"OtherReservedBits", "", 0x4f, "20", "kernel", accepts, ""},
    {"UndefinedType", "", 0x4f, "02", "kernel", refuses,
     "FDE 1: FDE type is 2, which is not defined (.sframe+0x4f); kernel drops the whole section when it "
     "comes there"},
    {"RuleOfCfaItself", "", 0x7e, "08", "kernel", misreads,
     "row 3 of FDE 3 has the RA or FP at a distance from the CFA, and not stored there (.sframe+0x7b); kernel "
     "ends "
     "traces there"},
    {"FramePointerAtCfa", "", 0x57, "00", "kernel", misreads,
     "row 2 of FDE 1 has the FP saved at the CFA itself (.sframe+0x55); kernel takes it for unchanged"},
    // Two words of two bytes, and then what was the last row.
    {"NoSuchRegister", "", 0x7b, "24 01 05 00 00 09 00", "kernel", misreads,
     "row 3 of FDE 3 counts from register 160 (.sframe+0x7b); kernel has no value of that, and may take another "
     "register "
     "for it"},
    {"UnusualRegister", "", 0x71, "89", "kernel", misreads,
     "row 1 of FDE 3 counts from register 17 (.sframe+0x70); kernel has no value of that, and may take another "
     "register "
     "for it"},
    {"ColumnOfTheReturnAddress", "", 0x71, "81", "kernel", misreads,
     "row 1 of FDE 3 counts from register 16 (.sframe+0x70); kernel has no value of that, and may take another "
     "register for it"},
    {"LastRegisterOfTheKernel", "", 0x71, "79", "kernel", accepts, ""},
    {"RowBeyond", "", 0x5c, "08", "kernel", refuses,
     "row 4 of FDE 1: row starts at 0x8, but the function's size is 0x7 (.sframe+0x5c); kernel drops the whole "
     "section when it "
     "comes there"},
    {"CfaWithoutRegister", "", 0x71, "02", "kernel", refuses,
     "row 1 of FDE 3: CFA rule of a flexible row has no base register (.sframe+0x71); kernel drops the whole "
     "section when "
     "it comes there"},
    {"WordsLeftOver", "", 0x78, "00", "kernel", refuses,
     "row 2 of FDE 3: 1 data word left over after the rules of a flexible row (.sframe+0x79); kernel drops the "
     "whole section "
     "when it comes there"},
    {"OtherRows", "", 0xc, "0b", "kernel", accepts, ""},
    {"Version2ForKernel", "v2_amd64", 0, "", "kernel", refuses,
     "it is SFrame version 2 (.sframe+0x2); kernel supports only version 3"},
    {"Version3ForGlibc", "", 0, "", "glibc", refuses,
     "it is SFrame version 3 (.sframe+0x2); glibc supports only version 2"},
    {"OutermostForGlibc", "v2_amd64", 0, "", "glibc", refuses,
     "row 2 of FDE 3 has no data words (.sframe+0x72); glibc starts the whole trace over from the DWARF where "
     "it meets one"},
    {"OverlapForKernel", "", 0x34, "50", "kernel", accepts, ""},
    {"OverlapForLibsframe", "", 0x34, "50", "libsframe", misreads,
     "FDE 3: function at 0x1040 overlaps the one from 0x1010 to 0x1060 (.sframe+0x3c); libsframe finds the first "
     "function of its search that has the address"},
    {"RegisterForLibsframe", "", 0x7b, "24 01 05 00 00 09 00", "libsframe", misreads,
     "row 3 of FDE 3 counts from register 160 (.sframe+0x7b); libsframe gives its number"},
    // What behind the last row was padding becomes its word.
    {"Version2ForGlibc", "v2_amd64", 0x72, "03 10", "glibc", accepts, ""},
    {"StartsForProfiler", "v2_amd64", 0, "", "java-profiler", refuses,
     "function starts are relative to their own fields (.sframe+0x3); java-profiler supports only starts relative to "
     "the section"},
    {"Version3ForProfiler", "", 0, "", "java-profiler", refuses,
     "it is SFrame version 3 (.sframe+0x2); java-profiler supports only version 2"},
    {"AbiForProfiler", "v2_amd64", 3, "01 02", "java-profiler", refuses,
     "ABI is AArch64, but the file is for AMD64 (.sframe+0x4); java-profiler checks that"},
    // As GNU as before 2.45 writes it: nothing else is wrong with it.
    {"LayoutForProfiler", "v2_amd64", 3, "01", "java-profiler", misreads,
     "it is SFrame version 2 (.sframe+0x2); java-profiler takes bit 0 of a row's info for the base FP, and that of an "
     "FDE's info for its type"},
    {"LinkedForLinker", "", 0, "", "mold", refuses, "it is in a linked file; mold reads only objects"},
};

class Judged : public testing::TestWithParam<Case> {};

Findings findings_of(std::vector<std::byte> section, sframe::Abi abi = sframe::Abi::Amd64) {
  Findings findings;
  survey_section(section, good_address, sframe::traits_of(abi), false, findings);
  return findings;
}

TEST_P(Judged, AsTheReaderDoes) {
  const Case& one = GetParam();
  std::vector<std::byte> section =
      *one.section == 0 ? sframe::test::good_section() : sframe::test::good_version(one.section);
  std::ranges::copy(bytes_of(one.bytes), section.begin() + static_cast<std::ptrdiff_t>(one.offset));
  // The count of bytes of rows, to which the word was added.
  if (one.offset == 0x72) section[0x10] = std::byte{0x1c};
  const ReaderVerdict verdict = judge(*find_reader_target(one.reader), false, findings_of(section));
  EXPECT_EQ(reason_of(verdict), one.why);
  EXPECT_EQ(static_cast<int>(verdict.kind), static_cast<int>(one.kind));
}

INSTANTIATE_TEST_SUITE_P(Walkers, Judged, testing::ValuesIn(cases),
                         [](const auto& test) { return std::string(test.param.name); });

// What its reader was seen to do (tools/glibc-backtrace), with a section of version 2 that it takes.
TEST(Judge, GlibcMissesWhatIsOutOfOrderAndDoesNotReadTheBytesOfRows) {
  std::vector<std::byte> section = sframe::test::good_version("v2_amd64");
  std::ranges::copy(bytes_of("03 10"), section.begin() + 0x72);
  section[0x10] = std::byte{0x1c};
  const auto verdict_of = [&section](std::size_t offset, const char* bytes) {
    std::vector<std::byte> changed = section;
    std::ranges::copy(bytes_of(bytes), changed.begin() + static_cast<std::ptrdiff_t>(offset));
    return judge(*find_reader_target("glibc"), false, findings_of(changed));
  };
  const ReaderVerdict unsorted = verdict_of(0x31, "ee");
  EXPECT_EQ(static_cast<int>(unsorted.kind), static_cast<int>(refuses));
  EXPECT_EQ(reason_of(unsorted),
            "FDE 2: function at 0xf10 comes after the one at 0x1000, but the index is flagged as sorted "
            "(.sframe+0x30); glibc finds no function that is out of order");
  EXPECT_EQ(static_cast<int>(verdict_of(0x10, "ff ff ff 7f").kind), static_cast<int>(accepts));
}

TEST(Judge, GlibcFindsEitherOfTwoFunctionsThatOverlap) {
  std::vector<std::byte> section = sframe::test::good_version("v2_amd64");
  std::ranges::copy(bytes_of("03 10"), section.begin() + 0x72);
  section[0x10] = std::byte{0x1c};
  section[0x34] = std::byte{0x50};
  const ReaderVerdict verdict = judge(*find_reader_target("glibc"), false, findings_of(section));
  EXPECT_EQ(static_cast<int>(verdict.kind), static_cast<int>(misreads));
  EXPECT_EQ(reason_of(verdict),
            "FDE 3: function at 0x1040 overlaps the one from 0x1010 to 0x1060 (.sframe+0x44); glibc finds the first "
            "function of its search that has the address");
}

// On AArch64, in a default row. The kernel takes it for unchanged, as our own readers do.
TEST(Judge, ReturnAddressOfZeroIsTakenInThreeWays) {
  std::vector<std::byte> section = sframe::test::good_version("v3_aarch64_be");
  section[0x4a] = std::byte{0};
  const auto reason_for = [](const std::vector<std::byte>& bytes, const char* reader) {
    return reason_of(judge(*find_reader_target(reader), false, findings_of(bytes, sframe::Abi::Aarch64Big)));
  };
  EXPECT_EQ(reason_for(section, "kernel"), "");
  EXPECT_EQ(reason_for(section, "libsframe"),
            "row 3 of FDE 1 has the word 0 for the RA (.sframe+0x48); libsframe gives it as one that has no caller");
  std::vector<std::byte> old = sframe::test::good_version("v1_aarch64_be");
  old[0x50] = old[0x51] = std::byte{0};
  EXPECT_EQ(reason_for(old, "libsframe-2.40"),
            "row 4 of FDE 1 has the word 0 for the RA (.sframe+0x4d); libsframe-2.40 takes what is at the CFA");
}

TEST(Judge, NothingHelpsWhereTheReaderLacksTheMachine) {
  const Findings findings = findings_of(sframe::test::good_version("v2_s390x"), sframe::Abi::S390x);
  const ReaderVerdict verdict = judge(*find_reader_target("glibc"), false, findings);
  EXPECT_EQ(reason_of(verdict), "it is for s390x (.sframe+0x4); glibc walks by it only on x86-64 and aarch64");
  EXPECT_FALSE(verdict.helped_by_target);
}

// Rules are compared with what is found: a section cut short at any byte, or with any byte damaged, has findings and no
// more than that.
TEST(Survey, LivesWithAnyDamage) {
  for (const char* const name : sframe::test::good_versions) {
    const std::vector<std::byte> good = sframe::test::good_version(name);
    for (std::size_t at = 0; at < good.size(); ++at) {
      findings_of({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(at)});
      for (const unsigned value : {0x00U, 0x7fU, 0x80U, 0xffU}) {
        std::vector<std::byte> section = good;
        section[at] = static_cast<std::byte>(value);
        findings_of(section);
      }
    }
  }
}

// What a sound section has is said of it, and nothing else.
TEST(Survey, FindsNoFaultInSoundSections) {
  const std::set<Fact> sound{Fact::Version1,          Fact::Version2,     Fact::Version3,
                             Fact::StartsFromSection, Fact::S390x,        Fact::NoWords,
                             Fact::StartsFromField,   Fact::ForeignOrder, Fact::UnusualRegister};
  for (const char* const name : {"v2_amd64", "v2_s390x", "v3_aarch64_be", "v3_s390x", "v1_aarch64_be"}) {
    const std::string text = name;
    const sframe::Abi abi = text.ends_with("s390x")        ? sframe::Abi::S390x
                            : text.ends_with("aarch64_be") ? sframe::Abi::Aarch64Big
                                                           : sframe::Abi::Amd64;
    const Findings findings = findings_of(sframe::test::good_version(name), abi);
    for (int fact = 0; fact <= static_cast<int>(Fact::CodeWithBss); ++fact) {
      const Finding* const finding = findings.find(static_cast<Fact>(fact));
      EXPECT_TRUE(finding == nullptr || sound.contains(finding->fact)) << name << ": " << finding->text;
    }
  }
}

// A reader is listed once, with rules: what is not read at all could not be refused.
TEST(Readers, HaveRules) {
  for (const ReaderTarget& reader : reader_targets()) {
    const ReaderRules& rules = rules_of(reader);
    EXPECT_NE(rules.reads_linked, rules.reads_objects) << reader.name;
    EXPECT_FALSE(rules.objections.empty()) << reader.name;
  }
}

}  // namespace
}  // namespace sframe_gen::readers
