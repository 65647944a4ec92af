#include "verify/coverage.hpp"

#include <gtest/gtest.h>

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

TEST(Coverage, CountsStretchesThatNothingCovers) {
  EXPECT_EQ(verify::count_uncovered({{0, 100}}, {{0, 100}}), 0U);
  EXPECT_EQ(verify::count_uncovered({{0, 100}}, {}), 1U);
  EXPECT_EQ(verify::count_uncovered({{0, 100}}, {{10, 20}, {30, 40}}), 3U);
  EXPECT_EQ(verify::count_uncovered({{0, 10}, {20, 30}}, {{0, 25}}), 1U);
}

}  // namespace
}  // namespace sframe_gen::test
