#include "trace/walk/perf_map.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "support/sanitized.hpp"

namespace sframe_gen::test {
namespace {

std::string found_in(trace::walk::PerfMap& map, std::uint64_t address) {
  const trace::walk::FunctionPlace place = map.function_at(address);
  return place.name.empty() ? "none" : std::string(place.name) + "+" + std::to_string(place.offset);
}

trace::walk::PerfMap perf_map_of(const std::string& text) {
  return trace::walk::PerfMap({text.begin(), text.end()});
}

TEST(PerfMap, NamesCode) {
  auto map = perf_map_of("1000 10 first\n0x2000 0x8 name with blanks\n3000 8 no end of line");
  EXPECT_EQ(found_in(map, 0xfff), "none");
  EXPECT_EQ(found_in(map, 0x1000), "first+0");
  EXPECT_EQ(found_in(map, 0x100f), "first+15");
  EXPECT_EQ(found_in(map, 0x1010), "none");
  EXPECT_EQ(found_in(map, 0x2004), "name with blanks+4");
  EXPECT_EQ(found_in(map, 0x3007), "no end of line+7");
}

TEST(PerfMap, LaterLineHoldsWhereTwoOverlap) {
  auto map = perf_map_of("100 100 old\n180 10 inner\n1c0 100 next\n180 10 inner again\n");
  EXPECT_EQ(found_in(map, 0x17f), "old+127");
  EXPECT_EQ(found_in(map, 0x180), "inner again+0");
  EXPECT_EQ(found_in(map, 0x190), "old+144");
  EXPECT_EQ(found_in(map, 0x1c0), "next+0");
  EXPECT_EQ(found_in(map, 0x2bf), "next+255");
  EXPECT_EQ(found_in(map, 0x2c0), "none");
}

TEST(PerfMap, PassesOverWhatIsNoLine) {
  auto map = perf_map_of(
      "\n100\n100 10\n100 10 \n100 0 empty\nxyz 10 f\n100 10g f\nffffffffffffffff 10 f\n-1 2 f\n200 1 good\n");
  for (const std::uint64_t none : {std::uint64_t{0x100}, std::uint64_t{0x10}, ~std::uint64_t{0}})
    EXPECT_EQ(found_in(map, none), "none");
  EXPECT_EQ(found_in(map, 0x200), "good+0");
}

TEST(PerfMap, DoesNotWriteOnTheTerminal) {
  auto map = perf_map_of("100 10 a\033[2Jb\n");
  EXPECT_EQ(found_in(map, 0x100), "a\\x1b[2Jb+0");
}

TEST(PerfMap, TimeGrowsWithItsSize) {
  std::string text;
  constexpr int lines = is_sanitized ? 20'000 : 100'000;
  // Each begins in the one before and ends after it, or ends in it.
  for (int i = 0; i < lines; ++i) text += std::to_string(i) + (i % 2 == 0 ? " 1000000 f\n" : " 1 g\n");
  const auto begun = std::chrono::steady_clock::now();
  auto map = perf_map_of(text);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(5));
  EXPECT_EQ(found_in(map, 0x1), "g+0");
}

TEST(PerfMap, BelongsToRootOrTheReader) {
  std::string path = testing::TempDir() + "perf-map-XXXXXX";
  const int made = ::mkstemp(path.data());
  ASSERT_GE(made, 0);
  ASSERT_EQ(::write(made, "100 10 f\n", 9), 9);
  const auto open = [&] {
    return std::make_shared<const trace::OpenFile>(
        trace::OpenFile{.file = Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC))});
  };
  trace::walk::PerfMaps maps;
  EXPECT_EQ(maps.of(1, path, open)->function_at(0x101).name, "f");
  EXPECT_EQ(maps.of(2, "none", [] { return nullptr; })->function_at(0x101).name, "");
  EXPECT_TRUE(maps.refused().empty());
  if (::geteuid() == 0) {
    constexpr uid_t other = 54321;
    ASSERT_EQ(::fchown(made, other, other), 0);
    EXPECT_EQ(maps.of(3, path, open)->function_at(0x101).name, "");
    EXPECT_EQ(maps.refused(),
              std::vector{path + ": belongs neither to root nor to you, so its names of functions are not used"});
  }
  ::close(made);
  ::unlink(path.c_str());
}

}  // namespace
}  // namespace sframe_gen::test
