#include "encode/coverage.hpp"

#include <gtest/gtest.h>

#include "encode/four_functions.hpp"

namespace sframe_gen::encode {
namespace {

using test::four_functions;

TEST(Coverage, CountsFunctionsOnce) {
  const Coverage coverage = four_functions();
  EXPECT_EQ(coverage.functions, 4U);
  EXPECT_EQ(coverage.whole, 2U);
  EXPECT_EQ(coverage.in_part, 1U);
  EXPECT_EQ(coverage.left_out, 1U);
}

TEST(Coverage, UnknownSourcesOfRowsHaveAName) {
  EXPECT_EQ(name_of(RowSource::Instructions), "instructions");
  EXPECT_EQ(name_of(static_cast<RowSource>(5)), "unknown");
  EXPECT_EQ(name_of(static_cast<RowSource>(255)), "unknown");
}

TEST(Coverage, CountsBytes) {
  const Coverage coverage = four_functions();
  EXPECT_EQ(coverage.described_bytes, 0x20U + 0x40 + 0x10 + 0x100);
  EXPECT_EQ(coverage.covered_bytes, coverage.described_bytes - 4 - 4 - 1 - 0x10);
}

TEST(Coverage, CountsAReasonOncePerFunctionAndEachByte) {
  const Coverage coverage = four_functions();
  const auto& expression = coverage.reasons.at(Unrepresentable::CfaIsExpression);
  EXPECT_EQ(expression.functions, 2U);
  EXPECT_EQ(expression.bytes, 4U + 4 + 0x10);
  const auto& offset = coverage.reasons.at(Unrepresentable::OffsetTooLarge);
  EXPECT_EQ(offset.functions, 1U);
  EXPECT_EQ(offset.bytes, 1U);
  EXPECT_EQ(coverage.reasons.size(), 2U);
}

TEST(Coverage, CountsDescriptorsByKind) {
  const Coverage coverage = four_functions();
  EXPECT_EQ(coverage.default_descriptors, 1U);
  EXPECT_EQ(coverage.flexible_descriptors, 1U);
  EXPECT_EQ(coverage.mask_descriptors, 1U);
  EXPECT_EQ(coverage.rows, 7U);
}

TEST(Coverage, AppendedPartsCountAsOne) {
  Coverage both = four_functions();
  both.append(four_functions());
  EXPECT_EQ(both.functions, 8U);
  EXPECT_EQ(both.whole, 4U);
  EXPECT_EQ(both.in_part, 2U);
  EXPECT_EQ(both.left_out, 2U);
  EXPECT_EQ(both.rows, 14U);
  EXPECT_EQ(both.holes.size(), 8U);
  EXPECT_EQ(both.described_bytes, 2 * four_functions().described_bytes);
  EXPECT_EQ(both.covered_bytes, 2 * four_functions().covered_bytes);
  EXPECT_EQ(both.default_descriptors + both.flexible_descriptors + both.mask_descriptors, 6U);
  EXPECT_EQ(both.reasons.at(Unrepresentable::CfaIsExpression).functions, 4U);
}

TEST(NoFunction, SaysWhatBecameOfTheFdes) {
  Coverage coverage;
  EXPECT_EQ(why_no_function(coverage), "no function that SFrame could describe");
  coverage.reasons = four_functions().reasons;
  coverage.dropped.outside_code = 2;
  EXPECT_EQ(why_no_function(coverage),
            "no function that SFrame could describe (2 FDEs of discarded or no code, 2 CFA is a DWARF expression, "
            "which SFrame cannot represent, 1 offset does not fit in 32 bits)");
}

}  // namespace
}  // namespace sframe_gen::encode
