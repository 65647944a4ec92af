#include <gtest/gtest.h>

#include "cfi/cfi_builder.hpp"
#include "cfi/frame_source.hpp"

namespace sframe_gen::test {
namespace {

using Functions = std::vector<SpelledFunction>;

Functions merged_functions(const Functions& functions) {
  cfi::RuleTable rules;
  std::vector<cfi::Function> all;
  for (const SpelledFunction& function : functions) all.push_back(interned(function, rules));
  Functions result;
  for (const cfi::Function& function : cfi::merge_overlapping(all, rules)) result.push_back(spelled(function, rules));
  return result;
}

SpelledFunction part_of(const SpelledFunction& function, std::uint64_t begin, std::uint64_t end) {
  cfi::RuleTable rules;
  return spelled(cfi::part_of(interned(function, rules), begin, end), rules);
}

const cfi::Rules conflict{cfi::UnknownReason::ConflictingFdes, {}, {}, {}};

TEST(Overlap, WhatBothSayStands) {
  const auto merged =
      merged_functions({{0x1000, 0x20, false, {{0, sp_plus(8)}}}, {0x1010, 0x20, false, {{0, sp_plus(8)}}}});
  EXPECT_EQ(merged, (Functions{{0x1000, 0x30, false, {{0, sp_plus(8)}}}}));
}

TEST(Overlap, WhatTheyDisagreeOnIsAConflict) {
  const auto merged =
      merged_functions({{0x1000, 0x20, false, {{0, sp_plus(8)}}}, {0x1010, 0x20, false, {{0, sp_plus(16)}}}});
  EXPECT_EQ(merged, (Functions{{0x1000, 0x30, false, {{0, sp_plus(8)}, {0x10, conflict}, {0x20, sp_plus(16)}}}}));
}

TEST(Overlap, OneInsideAnother) {
  const auto merged = merged_functions(
      {{0x1000, 0x40, false, {{0, sp_plus(8)}}}, {0x1010, 0x10, false, {{0, sp_plus(8)}, {8, sp_plus(16)}}}});
  EXPECT_EQ(merged, (Functions{{0x1000, 0x40, false, {{0, sp_plus(8)}, {0x18, conflict}, {0x20, sp_plus(8)}}}}));
}

TEST(Overlap, SameStartAndOtherSize) {
  const auto merged = merged_functions(
      {{0x1000, 0x10, false, {{0, sp_plus(8)}}}, {0x1000, 0x20, false, {{0, sp_plus(8)}, {0x10, sp_plus(24)}}}});
  EXPECT_EQ(merged, (Functions{{0x1000, 0x20, false, {{0, sp_plus(8)}, {0x10, sp_plus(24)}}}}));
}

// Of three at one PC, one more opinion makes a conflict and one less ends it.
TEST(Overlap, Three) {
  const auto merged = merged_functions({{0x1000, 0x40, false, {{0, sp_plus(8)}}},
                                        {0x1008, 0x20, false, {{0, sp_plus(8)}, {0x10, sp_plus(16)}}},
                                        {0x1010, 0x20, false, {{0, sp_plus(8)}}}});
  EXPECT_EQ(merged, (Functions{{0x1000, 0x40, false, {{0, sp_plus(8)}, {0x18, conflict}, {0x28, sp_plus(8)}}}}));
}

TEST(Overlap, OneValueInTwoWords) {
  cfi::Rules in_words = sp_plus(24), by_register = sp_plus(24);
  in_words.frame_pointer = at_cfa(-16);
  by_register.frame_pointer = at_reg(7, 8);
  const auto merged =
      merged_functions({{0x1000, 0x20, false, {{0, in_words}}}, {0x1000, 0x10, false, {{0, by_register}}}});
  EXPECT_EQ(merged, (Functions{{0x1000, 0x20, false, {{0, in_words}}}}));
}

TEST(Overlap, SignalFrameAgainstPlainFrameIsAConflictWhereBothAre) {
  const auto merged =
      merged_functions({{0x1000, 0x10, true, {{0, sp_plus(8)}}}, {0x1008, 0x20, false, {{0, sp_plus(8)}}}});
  EXPECT_EQ(merged, (Functions{{0x1000, 0x10, true, {{0, sp_plus(8)}, {8, conflict}}},
                               {0x1010, 0x18, false, {{0, sp_plus(8)}}}}));
}

TEST(Overlap, KeyBAgainstKeyA) {
  const auto merged = merged_functions(
      {{0x1000, 0x20, false, {{0, sp_plus(8)}}, true}, {0x1010, 0x20, false, {{0, sp_plus(8)}}, false}});
  EXPECT_EQ(merged, (Functions{{0x1000, 0x20, false, {{0, sp_plus(8)}, {0x10, conflict}}, true},
                               {0x1020, 0x10, false, {{0, sp_plus(8)}}, false}}));
}

TEST(PartOf, RowsBeforeAndBehindGo) {
  const SpelledFunction whole{
      0x1000, 0x40, true, {{0, sp_plus(8)}, {0x10, sp_plus(16)}, {0x20, sp_plus(24)}, {0x30, sp_plus(8)}}};
  EXPECT_EQ(part_of(whole, 0x1018, 0x1030),
            (SpelledFunction{0x1018, 0x18, true, {{0, sp_plus(16)}, {8, sp_plus(24)}}}));
  EXPECT_EQ(part_of(whole, 0x1020, 0x1021), (SpelledFunction{0x1020, 1, true, {{0, sp_plus(24)}}}));
}

}  // namespace
}  // namespace sframe_gen::test
