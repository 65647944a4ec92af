// The verifier's own expression machine: numbers, not symbols.

#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

#include "sframe/format.hpp"
#include "verify/caller.hpp"

namespace sframe_gen::test {
namespace {

const InputOrigin origin{"file", "expression"};
const verify::SyntheticContext context(0x1234b, sframe::amd64_traits);

std::optional<std::uint64_t> run(std::initializer_list<int> bytes,
                                 std::optional<std::uint64_t> initial = std::nullopt) {
  std::vector<std::byte> block;
  for (const int byte : bytes) block.push_back(static_cast<std::byte>(byte));
  return verify::expression_value(block, initial, context, Endian::Little, origin);
}

TEST(ExpressionValue, Constants) {
  EXPECT_EQ(run({0x35}), 5U);
  EXPECT_EQ(run({0x09, 0xff}), ~std::uint64_t{0});
  EXPECT_EQ(run({0x0a, 0x34, 0x12}), 0x1234U);
  EXPECT_EQ(run({0x11, 0x7f}), ~std::uint64_t{0});
}
TEST(ExpressionValue, RegistersAndMemory) {
  EXPECT_EQ(run({0x77, 8}), context.register_value(7) + 8);
  EXPECT_EQ(run({0x92, 40, 8}), context.register_value(40) + 8);
  EXPECT_EQ(run({0x77, 8, 0x06}), context.read_memory(context.register_value(7) + 8));
}
TEST(ExpressionValue, StartsFromTheInitialValue) {
  EXPECT_EQ(run({0x23, 16}, 100), 116U);
}
TEST(ExpressionValue, Arithmetic) {
  EXPECT_EQ(run({0x35, 0x33, 0x1c}), 2U);
  EXPECT_EQ(run({0x35, 0x33, 0x1e}), 15U);
  EXPECT_EQ(run({0x35, 0x33, 0x1a}), 1U);
  EXPECT_EQ(run({0x35, 0x33, 0x21}), 7U);
  EXPECT_EQ(run({0x35, 0x33, 0x27}), 6U);
  EXPECT_EQ(run({0x35, 0x33, 0x24}), 40U);
  EXPECT_EQ(run({0x35, 0x1f, 0x31, 0x26}), static_cast<std::uint64_t>(-3));
  EXPECT_EQ(run({0x35, 0x33, 0x2a}), 1U);
  EXPECT_EQ(run({0x35, 0x33, 0x2d}), 0U);
}
TEST(ExpressionValue, StackOperations) {
  EXPECT_EQ(run({0x35, 0x33, 0x16, 0x1c}), static_cast<std::uint64_t>(-2));
  EXPECT_EQ(run({0x35, 0x33, 0x13}), 5U);
  EXPECT_EQ(run({0x35, 0x33, 0x14}), 5U);
  EXPECT_EQ(run({0x35, 0x12, 0x22}), 10U);
}
TEST(ExpressionValue, PltEntryDependsOnThePc) {
  // rip & 15 is 11 here: the push is done.
  EXPECT_EQ(run({0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22}), context.register_value(7) + 16);
  EXPECT_EQ(run({0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3c, 0x2a, 0x33, 0x24, 0x22}), context.register_value(7) + 8);
}
TEST(ExpressionValue, NothingWhenTheStackRunsOutOrTheOperationIsUnknown) {
  EXPECT_EQ(run({}), std::nullopt);
  EXPECT_EQ(run({0x22}), std::nullopt);
  EXPECT_EQ(run({0x35, 0x28, 0, 0}), std::nullopt);
}
TEST(ExpressionValue, TruncatedIsMalformed) {
  EXPECT_THROW(run({0x0e, 1}), MalformedInput);
}

}  // namespace
}  // namespace sframe_gen::test
