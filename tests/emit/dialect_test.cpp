// What ABI, version and readers leave a section to say.

#include "emit/dialect.hpp"

#include <gtest/gtest.h>

#include "emit/dialects.hpp"
#include "sframe_gen/error.hpp"

namespace sframe_gen::test {
namespace {

using sframe::Abi;

constexpr Abi all_abis[]{Abi::Amd64, Abi::Aarch64Little, Abi::Aarch64Big, Abi::S390x};

TEST(Dialect, FlexibleDescriptorsAreOnExceptOnAarch64) {
  for (const Abi abi : all_abis) {
    const bool aarch64 = abi == Abi::Aarch64Little || abi == Abi::Aarch64Big;
    EXPECT_EQ(dialect_of(abi).flexible_descriptors, !aarch64) << sframe::name_of(abi);
    EXPECT_TRUE(dialect_of(abi, v3_flexible).flexible_descriptors) << sframe::name_of(abi);
    EXPECT_FALSE(dialect_of(abi, v3_plain).flexible_descriptors) << sframe::name_of(abi);
    EXPECT_FALSE(dialect_of(abi, v2).flexible_descriptors) << sframe::name_of(abi);
  }
}

TEST(Dialect, OlderVersionsHaveNoFlexibleDescriptorsWhateverIsAsked) {
  for (const Version version : {Version::V2, Version::V1, Version::CtfFrame}) {
    const OutputFormat asked{.version = version, .flexible = FlexibleDescriptors::Always};
    EXPECT_FALSE(dialect_of(Abi::Amd64, asked).flexible_descriptors);
  }
}

TEST(Dialect, OnlyVersion2CanCountStartsFromTheSection) {
  const auto counts_from_field = [](Version version, bool asked) {
    return dialect_of(Abi::Amd64, {.version = version, .pc_relative_starts = asked}).pc_relative_starts;
  };
  EXPECT_TRUE(counts_from_field(Version::V3, true));
  EXPECT_TRUE(counts_from_field(Version::V3, false));
  EXPECT_TRUE(counts_from_field(Version::V2, true));
  EXPECT_FALSE(counts_from_field(Version::V2, false));
  EXPECT_FALSE(counts_from_field(Version::V1, true));
  EXPECT_FALSE(counts_from_field(Version::CtfFrame, true));
}

TEST(Dialect, RowsForTheOutermostFrameCameWithVersion2) {
  for (const Version version : {Version::V3, Version::V2}) {
    EXPECT_TRUE(dialect_of(Abi::Amd64, {.version = version}).undefined_ra_rows);
    EXPECT_FALSE(dialect_of(Abi::Amd64, {.version = version, .undefined_ra_rows = false}).undefined_ra_rows);
  }
  EXPECT_FALSE(dialect_of(Abi::Amd64, v1).undefined_ra_rows);
  EXPECT_FALSE(dialect_of(Abi::Amd64, ctf_frame).undefined_ra_rows);
}

TEST(Dialect, S390xCameWithVersion2) {
  EXPECT_NO_THROW(dialect_of(Abi::S390x, v2));
  try {
    emit::make_dialect(v1, Abi::S390x, "a.out");
    FAIL();
  } catch (const Refused& refusal) {
    EXPECT_STREQ(refusal.what(), "a.out: for s390x, which SFrame version 1 has no identifier for");
  }
  EXPECT_THROW(dialect_of(Abi::S390x, ctf_frame), Refused);
}

TEST(Dialect, S390xCameWithTheErrataOfVersion2) {
  try {
    emit::make_dialect(v2_from_section, Abi::S390x, "a.out");
    FAIL();
  } catch (const Refused& refusal) {
    EXPECT_STREQ(refusal.what(),
                 "a.out: for s390x, which SFrame version 2 supports only since the errata that made function starts "
                 "relative to their own field");
  }
}

TEST(Dialect, RowsOfADescriptor) {
  EXPECT_EQ(dialect_of(Abi::Amd64, v3).version->largest_fre_count, 65535U);
  EXPECT_EQ(dialect_of(Abi::Amd64, v2).version->largest_fre_count, 4294967295U);
}

}  // namespace
}  // namespace sframe_gen::test
