#include "cfi/overlap.hpp"

#include <gtest/gtest.h>

#include "cfi/cfi_builder.hpp"

namespace sframe_gen::test {
namespace {

cfi::Rules sp_plus(std::int64_t offset) {
  return {reg(7, offset), {}, {}, at_cfa(-8)};
}
const cfi::Rules conflict{cfi::UnknownReason::ConflictingFdes, {}, {}, {}};

TEST(Overlap, WhatBothSayStands) {
  const cfi::FunctionFrames merged =
      cfi::merge_overlapping({{0x1000, 0x20, false, {{0, sp_plus(8)}}}, {0x1010, 0x20, false, {{0, sp_plus(8)}}}});
  EXPECT_EQ(merged, (cfi::FunctionFrames{0x1000, 0x30, false, {{0, sp_plus(8)}}}));
}

TEST(Overlap, WhatTheyDisagreeOnIsAConflict) {
  const cfi::FunctionFrames merged =
      cfi::merge_overlapping({{0x1000, 0x20, false, {{0, sp_plus(8)}}}, {0x1010, 0x20, false, {{0, sp_plus(16)}}}});
  EXPECT_EQ(merged,
            (cfi::FunctionFrames{0x1000, 0x30, false, {{0, sp_plus(8)}, {0x10, conflict}, {0x20, sp_plus(16)}}}));
}

TEST(Overlap, OneInsideAnother) {
  const cfi::FunctionFrames merged = cfi::merge_overlapping(
      {{0x1000, 0x40, false, {{0, sp_plus(8)}}}, {0x1010, 0x10, false, {{0, sp_plus(8)}, {8, sp_plus(16)}}}});
  EXPECT_EQ(merged,
            (cfi::FunctionFrames{0x1000, 0x40, false, {{0, sp_plus(8)}, {0x18, conflict}, {0x20, sp_plus(8)}}}));
}

TEST(Overlap, SameStartAndOtherSize) {
  const cfi::FunctionFrames merged = cfi::merge_overlapping(
      {{0x1000, 0x10, false, {{0, sp_plus(8)}}}, {0x1000, 0x20, false, {{0, sp_plus(8)}, {0x10, sp_plus(24)}}}});
  EXPECT_EQ(merged, (cfi::FunctionFrames{0x1000, 0x20, false, {{0, sp_plus(8)}, {0x10, sp_plus(24)}}}));
}

TEST(Overlap, SignalFrameAgainstPlainFrameIsAConflict) {
  const cfi::FunctionFrames merged =
      cfi::merge_overlapping({{0x1000, 0x10, true, {{0, sp_plus(8)}}}, {0x1000, 0x20, false, {{0, sp_plus(8)}}}});
  EXPECT_EQ(merged.rows, (std::vector<cfi::FrameRow>{{0, conflict}}));
}

}  // namespace
}  // namespace sframe_gen::test
