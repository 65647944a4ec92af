#include <gtest/gtest.h>

#include <vector>

#include "support/hash.hpp"

namespace sframe_gen::test {
namespace {

/// As those who number things use it.
struct Things {
  std::uint32_t number_of(std::uint64_t thing, std::uint64_t hash) {
    const auto known = numbers.find(hash, [&](std::uint32_t number) {
      ++compared;
      return things[number] == thing;
    });
    if (known) return *known;
    things.push_back(thing);
    return numbers.add(hash);
  }

  std::vector<std::uint64_t> things;
  HashedNumbers numbers;
  std::size_t compared = 0;
};

constexpr std::uint64_t many = 5000;

// Larger than the first table, several times.
TEST(HashedNumbers, CountFromZeroAndStay) {
  Things things;
  for (int time = 0; time < 2; ++time)
    for (std::uint64_t thing = 0; thing < many; ++thing)
      EXPECT_EQ(things.number_of(thing, thing * 0x9e3779b97f4a7c15U), thing);
  EXPECT_EQ(things.things.size(), many);
}

TEST(HashedNumbers, TellThingsOfOneHashApart) {
  Things things;
  for (int time = 0; time < 2; ++time)
    for (std::uint64_t thing = 0; thing < 1000; ++thing) EXPECT_EQ(things.number_of(thing, 7), thing);
}

// Their hashes begin at the same place of the table, and differ.
TEST(HashedNumbers, CompareNoThingsOfOtherHashes) {
  Things things;
  for (std::uint64_t thing = 0; thing < many; ++thing) things.number_of(thing, thing << 16U | 7U);
  EXPECT_EQ(things.compared, 0U);
  for (std::uint64_t thing = 0; thing < many; ++thing) things.number_of(thing, thing << 16U | 7U);
  EXPECT_EQ(things.compared, many);
}

TEST(HashedNumbers, BeginAgain) {
  Things things;
  for (std::uint64_t thing = 0; thing < many; ++thing) things.number_of(thing, thing);
  things.numbers.clear();
  things.things.clear();
  EXPECT_FALSE(things.numbers.find(3, [](std::uint32_t) { return true; }));
  EXPECT_EQ(things.number_of(many, many), 0U);
}

}  // namespace
}  // namespace sframe_gen::test
