#include "sframe_gen/find_rows.hpp"

#include <gtest/gtest.h>

#include <tuple>

#include "sframe/format.hpp"
#include "sframe/pc_rows.hpp"
#include "sframe/test_bytes.hpp"
#include "sframe_gen/section.hpp"

namespace sframe_gen::sframe {
namespace {

Fde function_at(std::uint64_t start, std::uint32_t size, const std::vector<std::uint32_t>& row_starts = {0}) {
  Fde function;
  function.start = start;
  function.size = size;
  for (const std::uint32_t row_start : row_starts) function.add_row(row_start, {});
  return function;
}

Fde repeated(std::uint32_t size, std::uint8_t repeat_size, const std::vector<std::uint32_t>& row_starts) {
  Fde function = function_at(0x1000, size, row_starts);
  function.pc_type = PcType::Mask;
  function.repeat_size = repeat_size;
  return function;
}

/// The start of the found function; 0 for none.
std::uint64_t start_found(const Section& section, std::uint64_t pc) {
  const Fde* function = find_fde(section, pc);
  return function == nullptr ? 0 : function->start;
}

/// The number of the found row; -1 for none.
std::ptrdiff_t row_found(const Fde& function, std::uint64_t pc_offset) {
  const Fre* row = find_fre(function, pc_offset);
  return row == nullptr ? -1 : row - function.fres.data();
}

using Interval = std::tuple<std::uint64_t, std::uint64_t, std::ptrdiff_t>;
std::vector<Interval> intervals_of(const Fde& function) {
  std::vector<Interval> intervals;
  for_each_interval(function, [&](std::uint64_t begin, std::uint64_t end, const Fre& row) {
    intervals.emplace_back(begin, end, &row - function.fres.data());
  });
  return intervals;
}

class FindFunction : public testing::TestWithParam<std::uint8_t> {};

TEST_P(FindFunction, HitsAndMisses) {
  Section section;
  section.flags = GetParam();
  section.fdes = {function_at(0x1000, 0x10), function_at(0x1010, 0x10), function_at(0x1040, 0x10)};
  EXPECT_EQ(start_found(section, 0xfff), 0U);
  EXPECT_EQ(start_found(section, 0x1000), 0x1000U);
  EXPECT_EQ(start_found(section, 0x100f), 0x1000U);
  EXPECT_EQ(start_found(section, 0x1010), 0x1010U);
  EXPECT_EQ(start_found(section, 0x1020), 0U);
  EXPECT_EQ(start_found(section, 0x104f), 0x1040U);
  EXPECT_EQ(start_found(section, 0x1050), 0U);
  EXPECT_EQ(start_found(section, ~std::uint64_t{0}), 0U);
  EXPECT_EQ(find_fde(Section{}, 0), nullptr);
}

TEST_P(FindFunction, LooksPastFunctionsOfNoBytes) {
  Section section;
  section.flags = GetParam();
  section.fdes = {function_at(0x1000, 0), function_at(0x1000, 0x10), function_at(0x1000, 0), function_at(0x1008, 0)};
  EXPECT_EQ(find_fde(section, 0x1009), &section.fdes[1]);
  EXPECT_EQ(find_fde(section, 0x1010), nullptr);
}

INSTANTIATE_TEST_SUITE_P(Flags, FindFunction, testing::Values(flag::sorted, std::uint8_t{0}),
                         [](const auto& tested) { return tested.param == flag::sorted ? "Sorted" : "Unsorted"; });

TEST(FindFde, LooksInAnUnsortedIndex) {
  Section section;
  section.fdes = {function_at(0x2000, 0x10), function_at(0x1000, 0x10)};
  EXPECT_EQ(start_found(section, 0x1008), 0x1000U);
}

TEST(PcRows, AreNotMadeOfRepeatsWithoutEnd) {
  Section section;
  section.fdes = {repeated(16 << 10, 16, {0, 6})};
  EXPECT_NO_THROW(check_repeats(section, "plain"));
  section.fdes = {repeated(UINT32_MAX, 1, {0})};
  EXPECT_THROW(check_repeats(section, "claims much"), Refused);
  section.fdes.assign(3, repeated(8 << 20, 16, {0}));
  EXPECT_THROW(check_repeats(section, "claims much in parts"), Refused);
}

TEST(FindFre, OfAPlainFunction) {
  const Fde function = function_at(0x1000, 7, {0, 1, 4});
  EXPECT_EQ(row_found(function, 0), 0);
  EXPECT_EQ(row_found(function, 1), 1);
  EXPECT_EQ(row_found(function, 3), 1);
  EXPECT_EQ(row_found(function, 6), 2);
  EXPECT_EQ(row_found(function, 7), -1);
}

TEST(FindFre, WhereThereIsNone) {
  EXPECT_EQ(row_found(function_at(0x1000, 8, {}), 0), -1);
  EXPECT_EQ(row_found(function_at(0x1000, 8, {4}), 3), -1);
  EXPECT_EQ(row_found(function_at(0x1000, 0, {0}), 0), -1);
}

TEST(FindFre, OfARepeatedBlock) {
  const Fde plt = repeated(40, 16, {0, 11});
  EXPECT_EQ(row_found(plt, 10), 0);
  EXPECT_EQ(row_found(plt, 11), 1);
  EXPECT_EQ(row_found(plt, 16), 0);
  EXPECT_EQ(row_found(plt, 31), 1);
  EXPECT_EQ(row_found(plt, 39), 0);
  EXPECT_EQ(row_found(plt, 40), -1);
}

// CTF Frame and version 1: a row holds where (pc & start) >= start; of several the last
TEST(FindFre, ByBitMasks) {
  const Fde plt = repeated(0x30, 0, {0, 11});
  for (std::uint64_t pc = 0; pc < 0x30; ++pc) EXPECT_EQ(row_found(plt, pc), (pc & 11U) == 11U ? 1 : 0) << pc;
  EXPECT_EQ(row_found(plt, 0x30), -1);
}
TEST(FindFre, ByBitMasksWithNoRowForZero) {
  const Fde function = repeated(0x20, 0, {4, 8, 12});
  EXPECT_EQ(row_found(function, 3), -1);
  EXPECT_EQ(row_found(function, 4), 0);
  EXPECT_EQ(row_found(function, 8), 1);
  EXPECT_EQ(row_found(function, 12), 2);
  EXPECT_EQ(row_found(function, 0x10), -1);
  EXPECT_EQ(row_found(function, 0x1f), 2);
}

TEST(FindFre, OfAFlexibleFunctionThatBinutilsWrote) {
  const Section section = decode(test::golden_section("flexible"), test::golden_address, {"flexible", ".sframe"});
  const Fde* function = find_fde(section, 0x2014);
  ASSERT_NE(function, nullptr);
  EXPECT_EQ(function->start, 0x2000U);
  EXPECT_EQ(find_fre(*function, 0x14)->recovery->cfa, Rule::at_register(6, -8));
  EXPECT_EQ(find_fre(*find_fde(section, 0x2021), 6)->recovery, std::nullopt);
}

TEST(ForEachInterval, OfAPlainFunction) {
  EXPECT_EQ(intervals_of(function_at(0x1000, 7, {0, 1, 4})), (std::vector<Interval>{{0, 1, 0}, {1, 4, 1}, {4, 7, 2}}));
}

TEST(ForEachInterval, LeavesOutWhatNoRowCovers) {
  EXPECT_EQ(intervals_of(function_at(0x1000, 7, {2, 7})), (std::vector<Interval>{{2, 7, 0}}));
  EXPECT_TRUE(intervals_of(function_at(0x1000, 7, {})).empty());
  EXPECT_TRUE(intervals_of(function_at(0x1000, 0, {0})).empty());
}

TEST(ForEachInterval, UnrollsRepeatedBlocks) {
  EXPECT_EQ(intervals_of(repeated(40, 16, {0, 11})),
            (std::vector<Interval>{{0, 11, 0}, {11, 16, 1}, {16, 27, 0}, {27, 32, 1}, {32, 40, 0}}));
  EXPECT_EQ(intervals_of(repeated(20, 8, {2})), (std::vector<Interval>{{2, 8, 0}, {10, 16, 0}, {18, 20, 0}}));
}

TEST(ForEachInterval, OfBitMasks) {
  EXPECT_EQ(intervals_of(repeated(16, 0, {0, 11})),
            (std::vector<Interval>{{0, 11, 0}, {11, 12, 1}, {12, 15, 0}, {15, 16, 1}}));
  EXPECT_EQ(intervals_of(repeated(16, 0, {8})), (std::vector<Interval>{{8, 16, 0}}));
}

class AgreesWithFindRow : public testing::TestWithParam<std::uint8_t> {};

TEST_P(AgreesWithFindRow, AtEveryPc) {
  const Fde function = repeated(0x105, GetParam(), {1, 4, 11});
  std::uint64_t covered = 0;
  for_each_interval(function, [&](std::uint64_t begin, std::uint64_t end, const Fre& row) {
    for (std::uint64_t pc = begin; pc < end; ++pc) EXPECT_EQ(find_fre(function, pc), &row) << pc;
    covered += end - begin;
  });
  for (std::uint64_t pc = 0; pc < function.size; ++pc) covered += find_fre(function, pc) == nullptr ? 1U : 0U;
  EXPECT_EQ(covered, function.size);
}

INSTANTIATE_TEST_SUITE_P(RepeatSizes, AgreesWithFindRow, testing::Values(std::uint8_t{16}, std::uint8_t{0}));

}  // namespace
}  // namespace sframe_gen::sframe
