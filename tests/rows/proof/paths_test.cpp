#include "rows/proof/paths.hpp"

#include <gtest/gtest.h>

namespace sframe_gen::rows::proof {
namespace {

constexpr std::uint64_t place = 0x100, call = 0x80, other_call = 0x90;

State after(std::uint64_t last_call) {
  State state = State::at_entry();
  state.after_call = last_call;
  return state;
}

State deeper(State state) {
  state.set(rsp, cfa_plus(-16));
  return state;
}

/// The caller's FP is in the slot, and no longer in its register.
State saved(State state) {
  state = deeper(std::move(state));
  state.store(cfa_plus(-16), 64, entry_of(rbp));
  state.set(rbp, constant(0));
  return state;
}

TEST(Paths, ComeByAscendingAddressAndOnceEach) {
  Paths paths;
  EXPECT_EQ(paths.arrive(place + 1, after(0), 0), Paths::Arrival::New);
  EXPECT_EQ(paths.arrive(place, after(0), 0), Paths::Arrival::New);
  EXPECT_EQ(paths.arrive(place, after(0), 0), Paths::Arrival::Known);
  EXPECT_EQ(paths.next(), place);
  EXPECT_EQ(paths.next(), place + 1);
  EXPECT_EQ(paths.next(), std::nullopt);
}

TEST(Paths, ThatDisagreeConflictWithoutACall) {
  Paths paths;
  paths.arrive(place, after(0), 0);
  EXPECT_EQ(paths.arrive(place, deeper(after(0)), 0), Paths::Arrival::Conflict);
  EXPECT_FALSE(paths.must_restart());
}

TEST(Paths, ThatDisagreeBlameTheCall) {
  for (const bool is_first : {false, true}) {
    Paths paths;
    paths.arrive(place, is_first ? deeper(after(call)) : after(0), 0);
    EXPECT_EQ(paths.arrive(place, is_first ? after(0) : deeper(after(call)), 0), Paths::Arrival::Known);
    EXPECT_TRUE(paths.must_restart());
    EXPECT_TRUE(paths.is_endless(call));
    paths.restart();
    EXPECT_FALSE(paths.must_restart());
    EXPECT_FALSE(paths.contains(place));
    EXPECT_TRUE(paths.is_endless(call));
  }
}

TEST(Paths, ThatDisagreeBlameBothCalls) {
  Paths paths;
  paths.arrive(place, after(call), 0);
  paths.arrive(place, deeper(after(other_call)), 0);
  EXPECT_TRUE(paths.is_endless(call) && paths.is_endless(other_call));
}

TEST(Paths, ThatKnowFramePointersInDifferentPlacesBlameTheCall) {
  Paths paths;
  paths.arrive(place, deeper(after(0)), 0);
  paths.arrive(place, saved(after(call)), 0);
  EXPECT_TRUE(paths.is_endless(call));
}

TEST(Paths, ThatKnowFramePointersInOnePlaceAgree) {
  Paths paths;
  State both = saved(after(0));
  both.set(rbp, entry_of(rbp));  // saved, and still there
  paths.arrive(place, both, 0);
  paths.arrive(place, saved(after(call)), 0);
  EXPECT_FALSE(paths.must_restart());
  EXPECT_EQ(paths.at(place).state.after_call, 0U);
}

TEST(Paths, ThatDisagreeBlameTheEntryOfATable) {
  const std::uint64_t entry = Paths::table_entry_to(place);
  Paths paths;
  paths.arrive(place, after(0), 0);
  EXPECT_EQ(paths.arrive(place, deeper(after(entry)), 0), Paths::Arrival::Known);
  EXPECT_TRUE(paths.must_restart());
  EXPECT_TRUE(paths.is_endless(entry));
  EXPECT_FALSE(paths.is_endless(place));
}

TEST(Paths, ThatDisagreeConflictIfTablesLeadToBoth) {
  Paths paths;
  paths.arrive(place, after(Paths::table_entry_to(place)), 0);
  EXPECT_EQ(paths.arrive(place, deeper(after(Paths::table_entry_to(place - 1))), 0), Paths::Arrival::Conflict);
  EXPECT_FALSE(paths.must_restart());
}

TEST(Paths, BlameNoCallIfTheyMustNot) {
  Paths paths(Paths::Blame::None);
  paths.arrive(place, after(0), 0);
  EXPECT_EQ(paths.arrive(place, deeper(after(call)), 0), Paths::Arrival::Conflict);
  paths.lose(place);
  EXPECT_FALSE(is_on_stack(paths.at(place).state[rsp]));
}

class WaysOutOf : public testing::Test {
 protected:
  void SetUp() override {
    for (const std::uint64_t block : {place, place + 0x10, place + 0x20}) paths_.arrive(block, after(call), 0);
  }

  Paths paths_;
  WaysOut ways_;
};

TEST_F(WaysOutOf, CodeLeadUpToTheLastInstructionThatLeavesIt) {
  ways_.add_edge(place, place + 4, place + 0x10);
  ways_.add_end(place + 0x10, place + 0x12);
  ways_.spread(paths_, {place, place + 0x30});
  EXPECT_TRUE(ways_.lead_from(place, place + 4));
  EXPECT_FALSE(ways_.lead_from(place, place + 5));
  EXPECT_TRUE(ways_.lead_from(place + 0x10, place + 0x12));
}

TEST_F(WaysOutOf, CodeThatEndsNowhereDoNotLead) {
  ways_.add_edge(place, place + 4, place + 0x10);
  ways_.add_edge(place + 0x10, place + 0x14, place);
  ways_.spread(paths_, {place, place + 0x30});
  EXPECT_FALSE(ways_.lead_from(place, place));
}

TEST_F(WaysOutOf, CodeLeadToWhereAPathWithoutACallLeads) {
  paths_.arrive(place + 0x20, after(0), 0);
  ways_.add_edge(place, place + 4, place + 0x20);
  ways_.spread(paths_, {place, place + 0x30});
  EXPECT_TRUE(ways_.lead_from(place, place));
}

}  // namespace
}  // namespace sframe_gen::rows::proof
