#include "support/background.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <stdexcept>
#include <thread>

namespace sframe_gen {
namespace {

cpu_set_t processors() {
  cpu_set_t all;
  EXPECT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
  return all;
}

int count(const cpu_set_t& set) {
  return CPU_COUNT(&set);
}

TEST(Background, HasItsOwnThreadAndItsResult) {
  auto id = in_background([] { return std::this_thread::get_id(); });
  EXPECT_TRUE(id.valid());
  EXPECT_NE(id.get(), std::this_thread::get_id());
}

TEST(Background, WhatItThrowsArrives) {
  auto work = in_background([]() -> int { throw std::runtime_error("no"); });
  EXPECT_THROW(work.get(), std::runtime_error);
}

TEST(Background, ItsEndWaits) {
  bool done = false;
  {
    const auto work = in_background([&] { done = true; });
  }
  EXPECT_TRUE(done);
}

TEST(Background, RunsOnAnotherProcessorThanItsCreator) {
  const int all = count(processors());
  EXPECT_EQ(count(in_background(processors).get()), all == 1 ? 1 : all - 1);
  EXPECT_EQ(count(processors()), all);
}

TEST(Background, CreatorStaysWhereItIsHoweverShortTheWork) {
  const int all = count(processors());
  for (int i = 0; i < 1000; ++i) in_background([] {}).get();
  EXPECT_EQ(count(processors()), all);
}

TEST(Background, RunsWhereThereIsOneProcessor) {
  // In a thread of its own, so that this one may go on where it likes.
  std::thread([] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(::sched_getcpu()), &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
    const cpu_set_t same = in_background(processors).get();
    EXPECT_TRUE(CPU_EQUAL(&one, &same));
  }).join();
}

}  // namespace
}  // namespace sframe_gen
