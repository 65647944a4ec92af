#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "support/hash.hpp"

namespace sframe_gen::test {
namespace {

/// Of the keys, how many places of a table of 1,024 their hashes begin at.
template <typename Key>
std::size_t places_of(const std::vector<Key>& keys, std::uint64_t seed) {
  std::set<std::uint64_t> places;
  for (const Key& key : keys) places.insert(SeededHash{seed}(key) % 1024);
  return places.size();
}

template <typename Key, typename KeyOf>
void expect_apart_in_another_run(KeyOf key_of) {
  constexpr std::uint64_t one_run = 1, other_run = 0x123456789abcdef;
  std::vector<Key> colliding;
  for (std::uint64_t i = 0; colliding.size() < 300; ++i) {
    if (SeededHash{one_run}(key_of(i)) % 1024 == 0) colliding.push_back(key_of(i));
  }
  EXPECT_EQ(places_of(colliding, one_run), 1U);
  EXPECT_GT(places_of(colliding, other_run), 200U);
}

// The maker of a hostile file knows the program, but not the seed.
TEST(SeededHash, TextsThatCollideInOneRunDoNotInAnother) {
  expect_apart_in_another_run<std::string>([](std::uint64_t i) { return "/usr/lib/lib" + std::to_string(i); });
}

TEST(SeededHash, NumbersThatCollideInOneRunDoNotInAnother) {
  expect_apart_in_another_run<std::uint64_t>([](std::uint64_t i) { return i; });
}

// Multiples of a table's size are what a file would choose against the usual hash of numbers, which is the number.
TEST(SeededHash, MultiplesAreApart) {
  std::vector<std::uint64_t> multiples;
  for (std::uint64_t i = 0; i < 300; ++i) multiples.push_back(i * 1024);
  EXPECT_GT(places_of(multiples, seed_of_run()), 200U);
}

TEST(SeededHash, MapsFindWhatIsInThem) {
  SeededMap<std::string, int> by_text{{"one", 1}, {"two", 2}};
  EXPECT_EQ(by_text.at("two"), 2);
  SeededMap<int, int> by_number{{-1, 1}, {2, 2}};
  EXPECT_EQ(by_number.at(-1), 1);
  EXPECT_EQ(by_number.count(3), 0U);
}

}  // namespace
}  // namespace sframe_gen::test
