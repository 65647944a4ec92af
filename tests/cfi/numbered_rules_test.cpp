// Rules by number: equal ones have one, and a number means nothing any more once it is forgotten.

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <vector>

#include "cfi/cfi_builder.hpp"
#include "cfi/rules.hpp"

namespace sframe_gen::test {
namespace {

cfi::Rules sp_plus(std::int64_t offset) {
  return {reg(7, offset), {}, {}, at_cfa(-8)};
}

TEST(NumberedRules, EqualRulesHaveOneNumber) {
  cfi::NumberedRules rules;
  const cfi::RuleNumber first = rules.number_of(sp_plus(8)), second = rules.number_of(sp_plus(16));
  EXPECT_NE(first, second);
  EXPECT_EQ(rules.number_of(sp_plus(8)), first);
  EXPECT_EQ(rules[second], sp_plus(16));
  EXPECT_EQ(rules.size(), 2U);
}

TEST(NumberedRules, EachColumnCounts) {
  cfi::NumberedRules rules;
  rules.number_of(sp_plus(8));
  cfi::Rules other = sp_plus(8);
  other.cfa = cfi::PltStub{cfi::amd64::rsp, 8, 11};
  rules.number_of(other);
  other.cfa = cfi::PltStub{cfi::amd64::rsp, 8, 12};
  rules.number_of(other);
  other.cfa = cfi::UnknownReason::MalformedFde;
  rules.number_of(other);
  other.cfa = cfi::UnknownReason::UnknownStub;
  rules.number_of(other);
  other.stack_pointer = cfi::SameValue{};
  rules.number_of(other);
  other.frame_pointer = at_cfa(-16);
  rules.number_of(other);
  other.return_address = cfi::Undefined{};
  rules.number_of(other);
  other.signing = cfi::Signing::Signed;
  rules.number_of(other);
  EXPECT_EQ(rules.size(), 9U);
}

TEST(NumberedRules, AnyNumberOfThem) {
  cfi::NumberedRules rules;
  for (std::int64_t i = 0; i < 10000; ++i) rules.number_of(sp_plus(i));
  for (std::int64_t i = 0; i < 10000; ++i) ASSERT_EQ(rules[rules.number_of(sp_plus(i))], sp_plus(i));
  EXPECT_EQ(rules.size(), 10000U);
}

TEST(NumberedRules, MoreThanCompilersMakeAreForgotten) {
  cfi::NumberedRules rules;
  rules.number_of(sp_plus(8));
  rules.forget_if_many();
  EXPECT_EQ(rules.size(), 1U);
  const std::uint32_t before = rules.generation();
  for (std::int64_t i = 0; i < 70000; ++i) rules.number_of(sp_plus(i));
  rules.forget_if_many();
  EXPECT_EQ(rules.size(), 0U);
  EXPECT_NE(rules.generation(), before);
  EXPECT_EQ(rules[rules.number_of(sp_plus(24))], sp_plus(24));
}

// What was looked up in the first function is worked out anew.
TEST(NumberedRules, AnInterpreterForgetsToo) {
  const OneFunction function({0x41, 0x0e, 16, 0x86, 2});
  cfi::NumberedRules rules;
  cfi::CfiInterpreter interpreter(function.table(), cfi::amd64::tracked, rules);
  std::vector<cfi::NumberedRow> rows;
  interpreter.run(function.fde(), rows);
  const std::vector<cfi::FrameRow> first = cfi::spelled_out(rows, rules);
  for (std::int64_t i = 0; i < 70000; ++i) rules.number_of(sp_plus(1000 + i));
  rules.forget_if_many();
  interpreter.run(function.fde(), rows);
  EXPECT_EQ(cfi::spelled_out(rows, rules), first);
  EXPECT_EQ(first.size(), 2U);
}

/// Of the rules, how many places of a table of 1,024 their hashes begin at.
std::size_t places_of(const std::vector<cfi::Rules>& all, std::uint64_t seed) {
  std::set<std::uint64_t> places;
  for (const cfi::Rules& rules : all) places.insert(cfi::hash_of(rules, seed) % 1024);
  return places.size();
}

// Whoever makes a file knows the program, but not the seed.
TEST(HashOfRules, WhatCollidesInOneRunDoesNotInAnother) {
  constexpr std::uint64_t one_run = 1, other_run = 2;
  std::vector<cfi::Rules> colliding;
  for (std::int64_t offset = 0; colliding.size() < 300; ++offset)
    if (cfi::hash_of(sp_plus(offset), one_run) % 1024 == 0) colliding.push_back(sp_plus(offset));
  EXPECT_EQ(places_of(colliding, one_run), 1U);
  EXPECT_GT(places_of(colliding, other_run), 200U);
}

// A base and an offset must not make up for each other.
TEST(HashOfRules, BaseAndOffsetCountApart) {
  std::vector<cfi::Rules> sums;
  for (std::int64_t i = 0; i < 300; ++i) sums.push_back({reg(static_cast<std::uint32_t>(i), -(i << 39U)), {}, {}, {}});
  EXPECT_GT(places_of(sums, 1), 200U);
}

TEST(HashOfRules, IsTheSameInARun) {
  EXPECT_EQ(cfi::hash_of(sp_plus(8)), cfi::hash_of(sp_plus(8)));
  EXPECT_NE(cfi::hash_of(sp_plus(8)), cfi::hash_of(sp_plus(16)));
}

}  // namespace
}  // namespace sframe_gen::test
