// The verifier's own account of signing, independent of the row machine's.

#include <gtest/gtest.h>

#include "cfi/cfi_builder.hpp"
#include "verify/cfi_sections.hpp"
#include "verify/proofs.hpp"

namespace sframe_gen::test {
namespace {

using States = std::vector<std::optional<bool>>;

/// Returns the states at 0x1000, 0x1004, 0x1008 and 0x100c of a function on aarch64.
States states(const Bytes& instructions, const Bytes& initial = {0x0c, 31, 0}) {
  std::vector<std::byte> bytes(initial.span().begin(), initial.span().end());
  bytes.insert(bytes.end(), instructions.span().begin(), instructions.span().end());
  verify::DwarfTable table;
  table.origin = {"file", ".eh_frame"};
  table.section_bytes = bytes;
  table.cies.emplace_back().initial_instructions = std::span(bytes).first(initial.span().size());
  table.fdes.push_back({0x1000, 0x100, 0x20, 0, std::span(bytes).subspan(initial.span().size())});
  States result;
  for (const std::uint64_t pc : {0x1000U, 0x1004U, 0x1008U, 0x100cU}) {
    result.push_back(verify::signed_at(table, 0, pc));
  }
  return result;
}

TEST(SigningState, PlainWhereNothingIsSaid) {
  EXPECT_EQ(states({0x44, 0x0e, 16}), (States{false, false, false, false}));
}
TEST(SigningState, NegateHoldsFromItsPcOn) {
  EXPECT_EQ(states({0x44, 0x2d, 0x48, 0x2d}), (States{false, true, true, false}));
}
TEST(SigningState, CieCounts) {
  EXPECT_EQ(states({0x48, 0x2d}, {0x0c, 31, 0, 0x2d}), (States{true, true, false, false}));
}
TEST(SigningState, RememberAndRestore) {
  EXPECT_EQ(states({0x2d, 0x0a, 0x44, 0x2d, 0x44, 0x0b}), (States{true, false, true, true}));
}
TEST(SigningState, RestoreOfTheColumn) {
  EXPECT_EQ(states({0x2d, 0x44, 0xe2}), (States{true, false, false, false}));
  EXPECT_EQ(states({0x2d, 0x44, 0x06, 34}, {0x0c, 31, 0, 0x2d}), (States{false, true, true, true}));
}
TEST(SigningState, WithThePcIsUnknown) {
  EXPECT_EQ(states({0x44, 0x2c, 0x44, 0x2d}), (States{false, std::nullopt, std::nullopt, std::nullopt}));
}
TEST(SigningState, AnyRuleForTheColumnIsUnknown) {
  EXPECT_EQ(states({0x44, 0x16, 34, 1, 0x31}), (States{false, std::nullopt, std::nullopt, std::nullopt}));
  EXPECT_EQ(states({0x44, 0x08, 34}), (States{false, std::nullopt, std::nullopt, std::nullopt}));
}
TEST(SigningState, CfaOnAColumnOfThatNumberIsNoRuleForIt) {
  EXPECT_EQ(states({0x2d, 0x44, 0x0c, 34, 8, 0x44, 0x0d, 34}), (States{true, true, true, true}));
}
TEST(SigningState, AbsoluteLocations) {
  EXPECT_EQ(states({0x01, 0x08, 0x10, 0, 0, 0, 0, 0, 0, 0x2d}), (States{false, false, true, true}));
}
TEST(SigningState, UnknownInstructionHidesTheRest) {
  EXPECT_EQ(states({0x2d, 0x44, 0x3f}), (States{true, std::nullopt, std::nullopt, std::nullopt}));
}

}  // namespace
}  // namespace sframe_gen::test
