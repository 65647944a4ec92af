// The options that choose a format: what each makes of it, and each wrong use.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "cli/options.hpp"
#include "cli/wrong_usage.hpp"
#include "sframe_gen/check.hpp"
#include "sframe_gen/format.hpp"

namespace sframe_gen::cli {
namespace {

using sframe::Version;
using test::Wrong;

OutputFormat format(std::vector<const char*> arguments) {
  arguments.push_back("a");
  return test::read(std::move(arguments)).convert.format;
}

TEST(FormatOptions, NewestVersionByDefault) {
  const OutputFormat chosen = format({});
  EXPECT_EQ(chosen.version, Version::V3);
  EXPECT_TRUE(chosen.pc_relative_starts);
  EXPECT_TRUE(chosen.undefined_ra_rows);
  EXPECT_EQ(chosen.flexible, FlexibleDescriptors::Auto);
}

TEST(FormatOptions, EachVersion) {
  EXPECT_EQ(format({"--sframe-version=3"}).version, Version::V3);
  EXPECT_EQ(format({"--sframe-version=2"}).version, Version::V2);
  EXPECT_EQ(format({"--sframe-version", "1"}).version, Version::V1);
  EXPECT_EQ(format({"--sframe-version=ctf"}).version, Version::CtfFrame);
}

TEST(FormatOptions, ErrataAreOfTheReader) {
  const OutputFormat both = format({"--sframe-version=2"});
  EXPECT_TRUE(both.pc_relative_starts);
  EXPECT_TRUE(both.undefined_ra_rows);
  // Readers from before the first erratum lack the second as well.
  const OutputFormat none = format({"--for=gnu-ld-2.44"});
  EXPECT_FALSE(none.pc_relative_starts);
  EXPECT_FALSE(none.undefined_ra_rows);
}

TEST(FormatOptions, CompactHasABound) {
  EXPECT_EQ(format({}).compact_rows, 0U);
  // The file after it is no number of rows.
  EXPECT_EQ(format({"--compact"}).compact_rows, 32U);
  EXPECT_EQ(format({"--compact=5"}).compact_rows, 5U);
  EXPECT_EQ(format({"--compact=64", "--for=glibc"}).compact_rows, 64U);
  for (const char* wrong : {"--compact=0", "--compact=65", "--compact=", "--compact=8x", "--compact=-1"})
    EXPECT_THROW(format({wrong}), UsageError) << wrong;
}

TEST(FormatOptions, LinuxScansAtMostSoManyRows) {
  EXPECT_EQ(format({"--for=kernel"}).most_rows, 256U);
  EXPECT_EQ(format({"--for=kernel", "--compact"}).compact_rows, 16U);
  EXPECT_EQ(format({"--for=kernel", "--compact=32"}).compact_rows, 32U);
  EXPECT_EQ(format({"--for=kernel"}).flexible, FlexibleDescriptors::Always);
  EXPECT_EQ(format({"--for=kernel", "--flexible=never"}).flexible, FlexibleDescriptors::Never);
}

TEST(FormatOptions, PaddingIsCoveredButForGnuLd) {
  for (const char* reader : {"kernel", "glibc", "libsframe", "mold"})
    EXPECT_TRUE(format({"--for", reader}).covers_padding) << reader;
  for (const char* reader : {"gnu-ld", "gnu-ld-2.44", "gnu-ld-2.40"})
    EXPECT_FALSE(format({"--for", reader}).covers_padding) << reader;
  EXPECT_TRUE(format({}).covers_padding);
  EXPECT_FALSE(format({"--no-padding"}).covers_padding);
}

TEST(FormatOptions, ReadersSayWhatMayBeShared) {
  EXPECT_EQ(format({"--compact"}).shared_rows, SharedRows::Always);
  EXPECT_EQ(format({"--compact", "--for=kernel"}).shared_rows, SharedRows::Always);
  for (const char* reader : {"--for=gnu-ld", "--for=gnu-ld-2.44", "--for=gnu-ld-2.40"})
    EXPECT_EQ(format({"--compact", reader}).shared_rows, SharedRows::LittleEndian) << reader;
}

TEST(FormatOptions, FlexibleDescriptors) {
  EXPECT_EQ(format({"--flexible=always"}).flexible, FlexibleDescriptors::Always);
  EXPECT_EQ(format({"--flexible=never"}).flexible, FlexibleDescriptors::Never);
  EXPECT_EQ(format({"--flexible", "auto"}).flexible, FlexibleDescriptors::Auto);
  EXPECT_EQ(format({"--flexible=never", "--sframe-version=2"}).flexible, FlexibleDescriptors::Never);
}

struct Target {
  const char* name;
  Version version;
  bool pc_relative_starts, undefined_ra_rows;
  FlexibleDescriptors flexible = FlexibleDescriptors::Auto;
};

class EachTarget : public testing::TestWithParam<Target> {};

TEST_P(EachTarget, IsAFormat) {
  const Target& expected = GetParam();
  const OutputFormat chosen = format({"--for", expected.name});
  EXPECT_EQ(chosen.version, expected.version);
  EXPECT_EQ(chosen.flexible, expected.flexible);
  if (expected.version == Version::V2) {
    EXPECT_EQ(chosen.pc_relative_starts, expected.pc_relative_starts);
  }
  if (expected.version != Version::V1) {
    EXPECT_EQ(chosen.undefined_ra_rows, expected.undefined_ra_rows);
  }
}

constexpr Target targets[]{
    {"kernel", Version::V3, true, true, FlexibleDescriptors::Always},
    {"glibc", Version::V2, true, false},
    {"gnu-ld", Version::V3, true, true},
    {"gnu-ld-2.44", Version::V2, false, false},
    {"gnu-ld-2.40", Version::V1, false, false},
    {"libsframe", Version::V3, true, true},
    {"libsframe-2.44", Version::V2, false, false},
    {"libsframe-2.40", Version::V1, false, false},
    {"mold", Version::V3, true, true},
    {"llvm-readelf", Version::V2, true, true},
};
INSTANTIATE_TEST_SUITE_P(Readers, EachTarget, testing::ValuesIn(targets));

TEST(ReaderTargets, AreTheOnesTestedHere) {
  std::size_t tested = 0;
  for (const ReaderTarget& target : reader_targets()) {
    if (!why_no_format(target).empty()) continue;
    ASSERT_LT(tested, std::size(targets)) << target.name;
    EXPECT_EQ(target.name, targets[tested++].name);
  }
  EXPECT_EQ(tested, std::size(targets));
}

TEST(ReaderTargets, TakeAWordAboutFlexibleDescriptors) {
  EXPECT_EQ(format({"--for=kernel", "--flexible=always"}).flexible, FlexibleDescriptors::Always);
  EXPECT_EQ(format({"--for=kernel", "--flexible=never"}).flexible, FlexibleDescriptors::Never);
}

class WrongFormat : public testing::TestWithParam<Wrong> {};

TEST_P(WrongFormat, IsNamed) {
  std::vector<const char*> arguments = GetParam().arguments;
  arguments.push_back("a");
  test::expect_refusal(arguments, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Options, WrongFormat,
    testing::Values(
        Wrong{{"--sframe-version=4"}, "--sframe-version: unknown value '4' (use 3, 2, 1 or ctf)"},
        Wrong{{"--sframe-version=V3"}, "--sframe-version: unknown value 'V3' (use 3, 2, 1 or ctf)"},
        Wrong{{"--sframe-version="}, "--sframe-version requires an argument"},
        Wrong{{"--sframe-version=2", "--sframe-version=3"}, "--sframe-version cannot be given twice"},
        Wrong{{"--flexible=yes"}, "--flexible: unknown value 'yes' (use auto, always or never)"},
        Wrong{{"--flexible=always", "--sframe-version=2"}, "--flexible=always requires --sframe-version=3"},
        Wrong{{"--flexible=always", "--for=glibc"}, "--flexible=always requires --sframe-version=3"},
        Wrong{{"--for=windows"}, "--for: unknown reader 'windows' (see --list-readers)"},
        Wrong{{"--for=glib"}, "--for: unknown reader 'glib' (did you mean 'glibc'?)"},
        Wrong{{"--for=kenrel"}, "--for: unknown reader 'kenrel' (did you mean 'kernel'?)"},
        Wrong{{"--for=java-profiler"},
              "--for: java-profiler reads another layout, and walks by DWARF where a file has no section"},
        Wrong{{"--for=gnu-ld-2.45"},
              "--for: gnu-ld-2.45 could not be tested (for objects, --for=glibc writes what its source reads)"},
        Wrong{{"--for=java"}, "--for: unknown reader 'java' (see --list-readers)"},
        Wrong{{"--for=kernel", "--sframe-version=3"}, "--for cannot be combined with --sframe-version"},
        Wrong{{"--dump", "--sframe-version=3"}, "--sframe-version cannot be combined with --dump"},
        Wrong{{"--dump", "--for=kernel"}, "--for cannot be combined with --dump"},
        Wrong{{"--verify", "--flexible=auto"}, "--flexible cannot be combined with --verify"}));

}  // namespace
}  // namespace sframe_gen::cli
