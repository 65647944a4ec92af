#include "cli/options.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/wrong_usage.hpp"

namespace sframe_gen::cli {
namespace {

using test::expect_refusal;
using test::read;
using test::Wrong;

using Paths = std::vector<std::filesystem::path>;

TEST(Options, OnlyAFile) {
  const Options options = read({"a.out"});
  EXPECT_EQ(options.action, Action::Convert);
  EXPECT_EQ(options.files, Paths{"a.out"});
  EXPECT_EQ(options.report, ReportFormat::Summary);
  EXPECT_FALSE(options.output || options.convert.debug_file);
  EXPECT_FALSE(options.convert.ignore_build_id || options.skip_non_elf || options.convert.dry_run || options.quiet ||
               options.verbose);
}

TEST(Options, EachFlag) {
  EXPECT_TRUE(read({"--skip-non-elf", "a"}).skip_non_elf);
  EXPECT_TRUE(read({"--skip-refused", "a"}).skip_refused);
  EXPECT_TRUE(read({"--dry-run", "a"}).convert.dry_run);
  EXPECT_TRUE(read({"-n", "a"}).convert.dry_run);
  EXPECT_TRUE(read({"--quiet", "a"}).quiet);
  EXPECT_TRUE(read({"-q", "a"}).quiet);
  EXPECT_TRUE(read({"--verbose", "a"}).verbose);
  EXPECT_TRUE(read({"-v", "a"}).verbose);
  EXPECT_TRUE(read({"--cfi-from", "d", "--ignore-build-id", "a"}).convert.ignore_build_id);
}

TEST(Options, EachAction) {
  EXPECT_EQ(read({"--remove", "a"}).action, Action::Remove);
  EXPECT_EQ(read({"--remove", "-n", "a"}).action, Action::Remove);
  EXPECT_EQ(read({"--remove", "-o", "b", "a"}).output, "b");
  EXPECT_EQ(read({"--dump", "a"}).action, Action::Dump);
  EXPECT_EQ(read({"--dump", "a"}).dump, DumpForm::Text);
  EXPECT_EQ(read({"--dump=json", "a"}).dump, DumpForm::Json);
  EXPECT_EQ(read({"--verify", "--", "--dump"}).files.front(), "--dump");
  EXPECT_EQ(read({"--dump", "--only", "f", "--only=0x10..0x20", "a"}).only,
            (std::vector<std::string>{"f", "0x10..0x20"}));
  EXPECT_EQ(read({"--lookup", "main+0x3", "a"}).action, Action::LookUp);
  EXPECT_EQ(read({"--lookup", "main+0x3", "a"}).place, "main+0x3");
  EXPECT_EQ(read({"--verify", "a"}).action, Action::Verify);
  EXPECT_EQ(read({"--check", "a"}).action, Action::Check);
  EXPECT_TRUE(read({"--check", "a"}).readers.empty());
  EXPECT_EQ(read({"--check=mold,glibc", "a"}).readers,
            (std::vector{find_reader_target("mold"), find_reader_target("glibc")}));
  EXPECT_EQ(read({"--help"}).action, Action::Help);
  EXPECT_EQ(read({"-h"}).action, Action::Help);
  EXPECT_EQ(read({"--version"}).action, Action::Version);
  EXPECT_EQ(read({"-V"}).action, Action::Version);
}

TEST(Options, Emit) {
  EXPECT_EQ(read({"--emit=asm", "a"}).action, Action::Emit);
  EXPECT_EQ(read({"--emit=asm", "a"}).emit, EmitForm::Assembly);
  EXPECT_EQ(read({"--emit", "section", "a", "-o", "b"}).emit, EmitForm::Section);
  EXPECT_FALSE(read({"--emit=asm", "a"}).section_address);
  EXPECT_EQ(read({"--emit=asm", "--section-address=0xffffffff82000000", "a"}).section_address, 0xffffffff82000000);
  EXPECT_EQ(read({"--emit=asm", "--section-address=4096", "a"}).section_address, 4096U);
  EXPECT_EQ(read({"--emit=asm", "--sframe-version=2", "-n", "a"}).convert.format.version, sframe::Version::V2);
}

TEST(Options, LaunchTakesACommandAsItIs) {
  const Options options = read({"--launch", "-q", "--for=glibc", "--", "cc", "-c", "", "--", "--remove", "a b.c"});
  EXPECT_EQ(options.action, Action::Launch);
  EXPECT_TRUE(options.quiet);
  EXPECT_EQ(options.convert.format.version, sframe::Version::V2);
  EXPECT_EQ(options.command, (std::vector<std::string>{"cc", "-c", "", "--", "--remove", "a b.c"}));
  EXPECT_TRUE(options.files.empty());
}

TEST(Options, LaunchBehindTheSeparatorIsAFile) {
  const Options options = read({"--", "--launch", "a"});
  EXPECT_EQ(options.action, Action::Convert);
  EXPECT_EQ(options.files, (Paths{"--launch", "a"}));
}

TEST(Options, HelpNeedsNothingElseToBeRight) {
  EXPECT_EQ(read({"--help", "--dump", "--verify"}).action, Action::Help);
  EXPECT_EQ(read({"--version", "--report=xml"}).action, Action::Version);
}

TEST(Options, ValuesInEachSpelling) {
  EXPECT_EQ(read({"-o", "b", "a"}).output, "b");
  EXPECT_EQ(read({"-ob", "a"}).output, "b");
  EXPECT_EQ(read({"--output", "b", "a"}).output, "b");
  EXPECT_EQ(read({"--output=b", "a"}).output, "b");
  EXPECT_EQ(read({"a", "-o", "b"}).output, "b");
  EXPECT_EQ(read({"--cfi-from=d", "a"}).convert.debug_file, "d");
  EXPECT_EQ(read({"--report=json", "a"}).report, ReportFormat::Json);
  EXPECT_EQ(read({"--report", "summary", "a"}).report, ReportFormat::Summary);
}

TEST(Options, ShortOptionsMayBeJoined) {
  const Options options = read({"-nv", "a"});
  EXPECT_TRUE(options.convert.dry_run && options.verbose);
}

TEST(Options, ManyFilesInOrder) {
  EXPECT_EQ(read({"c", "-q", "a", "b"}).files, (Paths{"c", "a", "b"}));
}

TEST(Options, FileNamesAreTakenAsTheyAre) {
  EXPECT_EQ(read({"two words", "\xff\xfe", "a=b", "--", "-o"}).files, (Paths{"two words", "\xff\xfe", "a=b", "-o"}));
  EXPECT_EQ(read({"-o", "two words", "a"}).output, "two words");
  EXPECT_EQ(read({"--cfi-from=two words.debug", "a"}).convert.debug_file, "two words.debug");
}

class WrongUsage : public testing::TestWithParam<Wrong> {};

TEST_P(WrongUsage, IsNamed) {
  expect_refusal(GetParam().arguments, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Options, WrongUsage,
    testing::Values(
        Wrong{{}, "no file given"},  //
        Wrong{{"-q"}, "no file given"}, Wrong{{"--dump"}, "no file given"},
        Wrong{{"--lookup", "main"}, "no file given"},
        Wrong{{"--check=linux", "a"}, "--check knows no 'linux'; --help lists what it knows"},
        Wrong{{"--check=kernel,,", "a"}, "--check knows no ''; --help lists what it knows"},
        Wrong{{"--check", "--cfi-from", "d", "a"}, "--cfi-from does not go with --check"},
        Wrong{{"--dump=xml", "a"}, "--dump is 'text' or 'json', not 'xml'"},
        Wrong{{"--verify", "--only=f", "a"}, "--only goes with --dump only"},
        Wrong{{"--dump", "--lookup", "main", "a"}, "--dump and --lookup exclude each other"},
        Wrong{{"--dump", "--verify", "a"}, "--dump and --verify exclude each other"},
        Wrong{{"--dump", "--remove", "a"}, "--remove and --dump exclude each other"},
        Wrong{{"--remove", "--cfi-from", "d", "a"}, "--cfi-from does not go with --remove"},
        Wrong{{"--dump", "-o", "b", "a"}, "--output and --dry-run go with converting, --emit and --remove only"},
        Wrong{{"--verify", "--dry-run", "a"}, "--output and --dry-run go with converting, --emit and --remove only"},
        Wrong{{"--verify", "--explain", "a"}, "--explain goes with converting only"},
        Wrong{{"--quiet", "--explain", "a"}, "--quiet and --explain exclude each other"},
        Wrong{{"-o", "c", "a", "b"}, "--output takes exactly one input file"},
        Wrong{{"-n", "-o", "b", "a"}, "--output and --dry-run exclude each other"},
        Wrong{{"--dump", "--cfi-from", "d", "a"}, "--cfi-from does not go with --dump"},
        Wrong{{"--dump", "--report=json", "a"}, "--report does not go with --dump"},
        Wrong{{"--lookup", "1", "--report=json", "a"}, "--report does not go with --lookup"},
        Wrong{{"--cfi-from", "d", "a", "b"}, "--cfi-from takes exactly one input file"},
        Wrong{{"--ignore-build-id", "a"}, "--ignore-build-id goes with --cfi-from only"},
        Wrong{{"-r", "-X", "", "a"}, "--exclude is a part of a path, not ''"},
        Wrong{{"-q", "-v", "a"}, "--quiet and --verbose exclude each other"},
        Wrong{{"--report=xml", "a"}, "--report is 'summary' or 'json', not 'xml'"},
        Wrong{{"--nonsense", "a"}, "unrecognised option '--nonsense'"},
        Wrong{{"--verif", "a"}, "unrecognised option '--verif'"}, Wrong{{"-x", "a"}, "unrecognised option '-x'"},
        Wrong{{"a", "-o"}, "the required argument for option '--output' is missing"},
        Wrong{{"--output", "b", "--output", "c", "a"}, "option '--output' cannot be specified more than once"},
        Wrong{{"--emit=bytes", "a"}, "--emit is 'section' or 'asm', not 'bytes'"},
        Wrong{{"--emit", "asm"}, "no file given"},
        Wrong{{"--emit=asm", "a", "b"}, "--emit takes exactly one input file"},
        Wrong{{"--emit=asm", "--skip-non-elf", "a"}, "--emit and --skip-non-elf exclude each other"},
        Wrong{{"--emit=asm", "--remove", "a"}, "--emit and --remove exclude each other"},
        Wrong{{"--emit=asm", "--verify", "a"}, "--emit and --verify exclude each other"},
        Wrong{{"--emit=asm", "--explain", "a"}, "--explain goes with converting only"},
        Wrong{{"--emit=asm", "--drop-signature", "a"}, "--drop-signature goes with converting only"},
        Wrong{{"--section-address=0x10", "a"}, "--section-address goes with --emit only"},
        Wrong{{"--emit=asm", "--section-address", "", "a"}, "--section-address is a number, not ''"},
        Wrong{{"--emit=asm", "--section-address=0x", "a"}, "--section-address is a number, not '0x'"},
        Wrong{{"--emit=asm", "--section-address=-8", "a"}, "--section-address is a number, not '-8'"},
        Wrong{{"--emit=asm", "--section-address=0x8k", "a"}, "--section-address is a number, not '0x8k'"},
        Wrong{{"--emit=asm", "--section-address=0x10000000000000000", "a"},
              "--section-address is a number, not '0x10000000000000000'"},
        Wrong{{"--emit=asm", "--section-address=0x1001", "a"}, "--section-address is a multiple of 8, not 0x1001"},
        Wrong{{"--quiet=yes", "a"}, "option '--quiet' does not take any arguments"}));

TEST(Help, FitsAScreenAndNamesTheStatus) {
  const std::string text = help_text();
  EXPECT_EQ(text.rfind("Usage: sframe-gen [OPTION]... FILE...\n", 0), 0U);
  EXPECT_NE(text.find("Exit status: 0 all done; 1 a file failed, --verify found a difference, or a reader that\n"
                      "--check asked does not take the section; 2 wrong usage;\n"),
            std::string::npos);
  EXPECT_EQ(text.find("--file"), std::string::npos) << "files are positional";
}

TEST(Version, NamesTheFormat) {
  EXPECT_EQ(version_text().rfind("sframe-gen ", 0), 0U);
  EXPECT_NE(version_text().find("SFrame 3"), std::string::npos);
}

}  // namespace
}  // namespace sframe_gen::cli
