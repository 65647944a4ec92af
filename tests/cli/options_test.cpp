#include "cli/options.hpp"

#include <gtest/gtest.h>

#include <algorithm>
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
  EXPECT_TRUE(read({"-r", "--objects", "a"}).objects);
  EXPECT_TRUE(read({"-r", "--linked-only", "a"}).linked_only);
  EXPECT_FALSE(read({"a"}).convert.omit_disproved);
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
  EXPECT_EQ(read({"--to-cache", "d", "-r", "-j2", "a"}).action, Action::ToCache);
  EXPECT_EQ(read({"--to-cache=d", "a"}).cache, "d");
  EXPECT_TRUE(read({"--check", "a"}).readers.empty());
  EXPECT_EQ(read({"--check=mold,glibc", "a"}).readers,
            (std::vector{find_reader_target("mold"), find_reader_target("glibc")}));
  EXPECT_EQ(read({"--list-readers"}).action, Action::ListReaders);
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
  EXPECT_EQ(read({"--list-readers", "--help", "a"}).action, Action::Help);
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

TEST(Options, AFileMayBeNamedAsAValue) {
  EXPECT_EQ(read({"--check", "./kernel"}).files, (Paths{"./kernel"}));
  EXPECT_EQ(read({"--check", "a", "kernel"}).files, (Paths{"a", "kernel"}));
  EXPECT_EQ(read({"--check=glibc", "kernel"}).files, (Paths{"kernel"}));
  EXPECT_EQ(read({"--dump=json", "text"}).files, (Paths{"text"}));
  EXPECT_EQ(read({"--dump", "xml"}).files, (Paths{"xml"}));
}

class WrongUsage : public testing::TestWithParam<Wrong> {};

TEST_P(WrongUsage, IsNamed) {
  expect_refusal(GetParam().arguments, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Options, WrongUsage,
    testing::Values(Wrong{{}, "no file given"},  //
                    Wrong{{"-q"}, "no file given"}, Wrong{{"--dump"}, "no file given"},
                    Wrong{{"--lookup", "main"}, "no file given"},
                    Wrong{{"--list-readers", "a"}, "--list-readers does not accept FILE"},
                    Wrong{{"--list-readers", "--verify", "a"}, "--list-readers cannot be combined with --verify"},
                    Wrong{{"--for=glibc", "--list-readers"}, "--list-readers cannot be combined with --for"},
                    Wrong{{"--check=linux", "a"}, "--check: unknown reader 'linux' (see --list-readers)"},
                    Wrong{{"--check=kernel,,", "a"}, "--check: unknown reader '' (see --list-readers)"},
                    Wrong{{"--check", "--cfi-from", "d", "a"}, "--cfi-from cannot be combined with --check"},
                    Wrong{{"--to-cache", "d"}, "no file given"},
                    Wrong{{"--to-cache", "d", "--for=glibc", "a"}, "--for cannot be combined with --to-cache"},
                    Wrong{{"--to-cache", "d", "--cfi-from", "e", "a"}, "--cfi-from cannot be combined with --to-cache"},
                    Wrong{{"--check", "kernel", "a"}, "kernel: no such file (use --check=kernel)"},
                    Wrong{{"--check", "glibc,gnu-ld", "a"}, "glibc,gnu-ld: no such file (use --check=glibc,gnu-ld)"},
                    Wrong{{"--dump", "json", "a"}, "json: no such file (use --dump=json)"},
                    Wrong{{"--compact", "8", "a"}, "8: no such file (use --compact=8)"},
                    Wrong{{"--dump=xml", "a"}, "--dump: unknown value 'xml' (use text or json)"},
                    Wrong{{"--verify", "--only=f", "a"}, "--only requires --dump"},
                    Wrong{{"--dump", "--lookup", "main", "a"}, "--dump cannot be combined with --lookup"},
                    Wrong{{"--dump", "--verify", "a"}, "--dump cannot be combined with --verify"},
                    Wrong{{"--dump", "--remove", "a"}, "--remove cannot be combined with --dump"},
                    Wrong{{"--remove", "--cfi-from", "d", "a"}, "--cfi-from cannot be combined with --remove"},
                    Wrong{{"--dump", "-o", "b", "a"}, "--output cannot be combined with --dump"},
                    Wrong{{"--verify", "--dry-run", "a"}, "--dry-run cannot be combined with --verify"},
                    Wrong{{"--verify", "--explain", "a"}, "--explain cannot be combined with --verify"},
                    Wrong{{"--quiet", "--explain", "a"}, "--quiet cannot be combined with --explain"},
                    Wrong{{"-o", "c", "a", "b"}, "--output supports only one FILE"},
                    Wrong{{"-n", "-o", "b", "a"}, "--output cannot be combined with --dry-run"},
                    Wrong{{"--dump", "--cfi-from", "d", "a"}, "--cfi-from cannot be combined with --dump"},
                    Wrong{{"--dump", "--report=json", "a"}, "--report cannot be combined with --dump"},
                    Wrong{{"--lookup", "1", "--report=json", "a"}, "--report cannot be combined with --lookup"},
                    Wrong{{"--cfi-from", "d", "a", "b"}, "--cfi-from supports only one FILE"},
                    Wrong{{"--ignore-build-id", "a"}, "--ignore-build-id requires --cfi-from"},
                    Wrong{{"-r", "-X", "", "a"}, "--exclude: empty argument"},
                    Wrong{{"--objects", "a"}, "--objects requires --recursive"},
                    Wrong{{"-r", "--objects", "--linked-only", "a"}, "--linked-only cannot be combined with --objects"},
                    Wrong{{"-q", "-v", "a"}, "--quiet cannot be combined with --verbose"},
                    Wrong{{"--report=xml", "a"}, "--report: unknown value 'xml' (use summary or json)"},
                    Wrong{{"--nonsense", "a"}, "unknown option '--nonsense'"},
                    Wrong{{"--verfiy", "a"}, "unknown option '--verfiy' (did you mean '--verify'?)"},
                    Wrong{{"--verif", "a"}, "unknown option '--verif' (did you mean '--verify'?)"},
                    Wrong{{"--out=b", "a"}, "unknown option '--out' (did you mean '--output'?)"},
                    Wrong{{"-x", "a"}, "unknown option '-x'"},
                    Wrong{{"-o", "-", "a"}, "-o - requires --emit (for a file of that name, use -o ./-)"},
                    Wrong{{"a", "-o"}, "--output requires an argument"},
                    Wrong{{"--output", "b", "--output", "c", "a"}, "--output cannot be given twice"},
                    Wrong{{"--emit=bytes", "a"}, "--emit: unknown value 'bytes' (use section or asm)"},
                    Wrong{{"--emit", "asm"}, "no file given"},
                    Wrong{{"--emit=asm", "a", "b"}, "--emit supports only one FILE"},
                    Wrong{{"--emit=asm", "--skip-non-elf", "a"}, "--skip-non-elf cannot be combined with --emit"},
                    Wrong{{"--emit=asm", "--remove", "a"}, "--emit cannot be combined with --remove"},
                    Wrong{{"--emit=asm", "--verify", "a"}, "--emit cannot be combined with --verify"},
                    Wrong{{"--emit=asm", "--explain", "a"}, "--explain cannot be combined with --emit"},
                    Wrong{{"--emit=asm", "--drop-signature", "a"}, "--drop-signature cannot be combined with --emit"},
                    Wrong{{"--section-address=0x10", "a"}, "--section-address requires --emit"},
                    Wrong{{"--emit=asm", "--section-address", "", "a"}, "--section-address: invalid address ''"},
                    Wrong{{"--emit=asm", "--section-address=0x", "a"}, "--section-address: invalid address '0x'"},
                    Wrong{{"--emit=asm", "--section-address=-8", "a"}, "--section-address: invalid address '-8'"},
                    Wrong{{"--emit=asm", "--section-address=0x8k", "a"}, "--section-address: invalid address '0x8k'"},
                    Wrong{{"--emit=asm", "--section-address=0x10000000000000000", "a"},
                          "--section-address: invalid address '0x10000000000000000'"},
                    Wrong{{"--emit=asm", "--section-address=0x1001", "a"},
                          "--section-address: 0x1001 is not a multiple of 8"},
                    Wrong{{"--quiet=yes", "a"}, "--quiet does not accept an argument"}));

TEST(Help, FitsTwoScreensAndNamesTheStatus) {
  const std::string text = help_text();
  EXPECT_EQ(text.rfind("Usage: sframe-gen [OPTION]... FILE...\n", 0), 0U);
  EXPECT_NE(text.find("Exit status: 0 success, 1 a file failed"), std::string::npos);
  EXPECT_LE(std::ranges::count(text, '\n'), 64);
  EXPECT_EQ(text.find(" \n"), std::string::npos);
  EXPECT_NE(text.find("\n  -o, --output=FILE "), std::string::npos);
  EXPECT_NE(text.find("\n      --check[=READERS] "), std::string::npos);
  EXPECT_EQ(text.find("--file"), std::string::npos) << "files are positional";
}

TEST(Version, NamesTheFormat) {
  EXPECT_EQ(version_text().rfind("sframe-gen ", 0), 0U);
  EXPECT_NE(version_text().find("SFrame 3"), std::string::npos);
}

}  // namespace
}  // namespace sframe_gen::cli
