#include <gtest/gtest.h>

#include "verify/verify.hpp"

namespace sframe_gen::test {
namespace {

using verify::PcRange;

TEST(Coverage, JoinsWhatOverlapsOrTouches) {
  const auto ranges = verify::merged({{10, 20}, {0, 5}, {5, 7}, {15, 30}, {40, 40}});
  ASSERT_EQ(ranges.size(), 2U);
  EXPECT_EQ(ranges[0].end, 7U);
  EXPECT_EQ(ranges[1].end, 30U);
  EXPECT_EQ(verify::total_bytes(ranges), 27U);
}

TEST(Coverage, FindsStretchesThatNothingCovers) {
  EXPECT_EQ(verify::uncovered({{0, 100}}, {{0, 100}}).size(), 0U);
  EXPECT_EQ(verify::uncovered({{0, 100}}, {}).size(), 1U);
  EXPECT_EQ(verify::uncovered({{0, 100}}, {{10, 20}, {30, 40}}).size(), 3U);
  const auto left = verify::uncovered({{0, 10}, {20, 30}}, {{0, 25}});
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].begin, 25U);
  EXPECT_EQ(left[0].end, 30U);
}

}  // namespace
}  // namespace sframe_gen::test
