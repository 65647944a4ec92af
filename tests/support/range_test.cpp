#include "support/range.hpp"

#include <gtest/gtest.h>

namespace sframe_gen::test {
namespace {

using Ranges = std::vector<Range>;

Ranges rest_of(Ranges whole, Ranges part) {
  return RangeSet(std::move(whole)).without(RangeSet(std::move(part))).ranges();
}

TEST(Range, KnowsWhatIsInIt) {
  constexpr Range range{10, 20};
  EXPECT_EQ(range.size(), 10U);
  EXPECT_TRUE(range.contains(10));
  EXPECT_FALSE(range.contains(20));
  EXPECT_TRUE(range.contains({10, 20}));
  EXPECT_FALSE(range.contains({9, 20}));
  EXPECT_TRUE(range.overlaps({19, 30}));
  EXPECT_FALSE(range.overlaps({20, 30}));

  const RangeSet set({{10, 20}, {30, 40}});
  EXPECT_TRUE(set.overlaps({19, 30}));
  EXPECT_FALSE(set.overlaps({20, 30}));
  EXPECT_FALSE(set.overlaps({15, 15}));
}

TEST(Range, HasNoSizeIfItEndsBeforeItBegins) {
  EXPECT_TRUE((Range{2, 1}.empty()));
  EXPECT_EQ((Range{2, 1}.size()), 0U);
}

TEST(RangeSet, JoinsWhatOverlapsOrTouches) {
  const RangeSet set({{10, 20}, {0, 5}, {5, 7}, {15, 30}, {40, 40}});
  EXPECT_EQ(set.ranges(), (Ranges{{0, 7}, {10, 30}}));
  EXPECT_EQ(set.size(), 27U);
}

TEST(RangeSet, JoinsWhatHasASmallGapBetween) {
  EXPECT_EQ(RangeSet({{0, 5}, {8, 10}, {14, 20}}, 3).ranges(), (Ranges{{0, 10}, {14, 20}}));
}

TEST(RangeSet, FindsTheRangeAtOrAfterANumber) {
  const RangeSet set({{10, 20}, {30, 40}});
  EXPECT_EQ(set.find(0)->begin, 10U);
  EXPECT_EQ(set.find(19)->begin, 10U);
  EXPECT_EQ(set.find(20)->begin, 30U);
  EXPECT_EQ(set.find(40), set.end());
}

TEST(RangeSet, FindsWhatNothingCovers) {
  EXPECT_EQ(rest_of({{0, 100}}, {{0, 100}}), Ranges{});
  EXPECT_EQ(rest_of({{0, 100}}, {}), (Ranges{{0, 100}}));
  EXPECT_EQ(rest_of({{0, 100}}, {{10, 20}, {30, 40}}), (Ranges{{0, 10}, {20, 30}, {40, 100}}));
  EXPECT_EQ(rest_of({{0, 10}, {20, 30}}, {{0, 25}}), (Ranges{{25, 30}}));
}

}  // namespace
}  // namespace sframe_gen::test
