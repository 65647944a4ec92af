#include <gtest/gtest.h>

#include "elf/records.hpp"
#include "rewrite/plan/file_space.hpp"

namespace sframe_gen::elf {
namespace {

TEST(OffsetMap, ShiftsWhatStandsAtOrBehindAnInsertion) {
  rewrite::OffsetMap map;
  map.insert({0x200, 0x10});
  map.insert({0x100, 0x1000});
  EXPECT_EQ(map(0xff), 0xffU);
  EXPECT_EQ(map(0x100), 0x1100U);
  EXPECT_EQ(map(0x1ff), 0x11ffU);
  EXPECT_EQ(map(0x200), 0x1210U);
  EXPECT_EQ(map.insertions().front().at, 0x100U);
}

TEST(OffsetMap, InsertionsAtOnePlaceAddUp) {
  rewrite::OffsetMap map;
  map.insert({0x100, 8});
  map.insert({0x100, 8});
  map.insert({0x100, 0});
  EXPECT_EQ(map(0x100), 0x110U);
  EXPECT_EQ(map.insertions().size(), 2U);
}

TEST(Alignment, ZeroAndOneDoNotAlign) {
  EXPECT_EQ(align_up(13, 0), 13U);
  EXPECT_EQ(align_up(13, 1), 13U);
  EXPECT_EQ(align_up(13, 8), 16U);
  EXPECT_EQ(align_up(16, 8), 16U);
  EXPECT_EQ(align_down(13, 8), 8U);
  EXPECT_FALSE(is_power_of_two_or_zero(24));
}

TEST(Range, TouchingRangesDoNotOverlap) {
  EXPECT_FALSE((Range{0, 4}.overlaps({4, 8})));
  EXPECT_TRUE((Range{0, 5}.overlaps({4, 8})));
  EXPECT_TRUE((Range{0, 5}.contains({4, 5})));
  EXPECT_TRUE((Range{5, 5}.empty()));
}

}  // namespace
}  // namespace sframe_gen::elf
