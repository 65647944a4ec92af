// Rules by number: equal ones have one, whichever thread asks.

#include "cfi/rules.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "cfi/cfi_builder.hpp"

namespace sframe_gen::test {
namespace {

TEST(RuleTable, EqualRulesHaveOneNumber) {
  cfi::RuleTable rules;
  const cfi::RuleId first = rules.intern(sp_plus(8)), second = rules.intern(sp_plus(16));
  EXPECT_NE(first, second);
  EXPECT_EQ(rules.intern(sp_plus(8)), first);
  EXPECT_EQ(rules[second], sp_plus(16));
  EXPECT_EQ(rules.size(), 2U);
}

TEST(RuleTable, EachColumnCounts) {
  cfi::RuleTable rules;
  rules.intern(sp_plus(8));
  cfi::Rules changed = sp_plus(8);
  changed.cfa = cfi::PltStub{cfi::amd64::rsp, 8, 11};
  rules.intern(changed);
  changed.cfa = cfi::PltStub{cfi::amd64::rsp, 8, 12};
  rules.intern(changed);
  changed.cfa = cfi::UnknownReason::MalformedFde;
  rules.intern(changed);
  changed.cfa = cfi::UnknownReason::UnknownStub;
  rules.intern(changed);
  changed.stack_pointer = cfi::SameValue{};
  rules.intern(changed);
  changed.frame_pointer = at_cfa(-16);
  rules.intern(changed);
  changed.return_address = cfi::Undefined{};
  rules.intern(changed);
  changed.signing = cfi::Signing::Signed;
  rules.intern(changed);
  EXPECT_EQ(rules.size(), 9U);
}

TEST(RuleTable, AnyNumberOfThem) {
  cfi::RuleTable rules;
  for (std::int64_t i = 0; i < 10000; ++i) rules.intern(sp_plus(i));
  for (std::int64_t i = 0; i < 10000; ++i) ASSERT_EQ(rules[rules.intern(sp_plus(i))], sp_plus(i));
  EXPECT_EQ(rules.size(), 10000U);
}

TEST(RuleTable, EqualRulesHaveOneNumberInAllThreads) {
  constexpr std::int64_t count = 3000;
  cfi::RuleTable rules;
  std::vector<std::vector<cfi::RuleId>> numbers(4);
  std::vector<std::thread> threads;
  for (std::vector<cfi::RuleId>& own : numbers)
    threads.emplace_back([&] {
      for (std::int64_t i = 0; i < count; ++i) {
        own.push_back(rules.intern(sp_plus(i)));
        ASSERT_EQ(rules[own.back()], sp_plus(i));
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(rules.size(), std::size_t{count});
  for (const std::vector<cfi::RuleId>& own : numbers) EXPECT_EQ(own, numbers[0]);
}

TEST(RuleTable, HasALimit) {
  cfi::RuleTable rules;
  for (std::size_t i = 0; i < cfi::RuleTable::most_rules; ++i) rules.intern(sp_plus(static_cast<std::int64_t>(i)));
  EXPECT_EQ(rules.intern(sp_plus(8)), 8U);
  EXPECT_THROW(rules.intern(sp_plus(-8)), std::length_error);
}

/// Of the rules, how many places of a table of 1,024 their hashes begin at.
std::size_t places_of(const std::vector<cfi::Rules>& all, std::uint64_t seed) {
  std::set<std::uint64_t> places;
  for (const cfi::Rules& rules : all) places.insert(cfi::hash_of(rules, seed) % 1024);
  return places.size();
}

// The maker of a hostile file knows the program, but not the seed.
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
