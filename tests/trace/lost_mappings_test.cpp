#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "support/bytes.hpp"
#include "trace/record/rings.hpp"

namespace sframe_gen::test {
namespace {

constexpr std::uint32_t lost = 2;
constexpr std::uint64_t second_of_ns = 1'000'000'000;

/// Takes records whose bodies have these numbers.
class LostMappings : public testing::Test {
 protected:
  std::optional<int> take(std::uint32_t type, std::uint64_t now, const std::vector<int>& numbers) {
    ByteWriter body(host_endian);
    for (const int number : numbers) body.u32(static_cast<std::uint32_t>(number));
    while (body.size() < 24) body.u32(0);
    return mappings_.take({.type = type, .body = body.bytes()}, now);
  }
  std::optional<int> take_sample(int process, std::uint64_t now = 0) {
    return take(trace::perf::record_type::sample, now, {0, 0, 0, 0, process, process});
  }

  trace::record::LostMappings mappings_;
};

TEST_F(LostMappings, AreReadOfEachProcessThatGoesOn) {
  EXPECT_EQ(take_sample(7), std::nullopt);
  take(lost, 5, {});
  EXPECT_EQ(take_sample(7), 7);
  EXPECT_EQ(take_sample(7), std::nullopt);
  EXPECT_EQ(take_sample(8), 8);
  EXPECT_EQ(take_sample(0), std::nullopt);  // the kernel's idle thread
}

TEST_F(LostMappings, AreReadOnceASecond) {
  take(lost, 5, {});
  EXPECT_EQ(take_sample(7, 5), 7);
  take(lost, 6, {});
  EXPECT_EQ(take_sample(7, second_of_ns), std::nullopt);
  EXPECT_EQ(take_sample(7, second_of_ns + 5), 7);
  EXPECT_EQ(take_sample(7, 9 * second_of_ns), std::nullopt);
}

TEST_F(LostMappings, AreNoneOfAProcessThatBeganSince) {
  take(lost, 5, {});
  take(trace::perf::record_type::fork, 6, {8, 7, 8, 7});
  EXPECT_EQ(take_sample(8), std::nullopt);
  take(trace::perf::record_type::fork, 6, {9, 9, 10, 9});  // a thread
  EXPECT_EQ(take_sample(9), 9);
  take(trace::perf::record_type::exit, 6, {8, 7, 8, 7});
  EXPECT_EQ(take_sample(8), 8);  // The number is another process's, whose begin was lost.
}

}  // namespace
}  // namespace sframe_gen::test
