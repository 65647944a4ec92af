#include "support/companion.hpp"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

namespace sframe_gen {
namespace {

/// Keeps a companion from beginning anything else, up to release().
class Busy {
 public:
  explicit Busy(Companion& companion) {
    work_ = companion.give([this] {
      has_begun_.set_value();
      may_end_.get_future().wait();
    });
    has_begun_.get_future().wait();
  }
  void release() { may_end_.set_value(); }

 private:
  std::promise<void> has_begun_, may_end_;
  Companion::Work work_;
};

TEST(Companion, DoesWhatItIsGivenInThatOrder) {
  Companion companion;
  std::vector<int> done;
  std::vector<std::thread::id> by;
  std::promise<void> all_done;
  std::vector<Companion::Work> works;
  for (int i = 0; i < 100; ++i) {
    works.push_back(companion.give([&, i] {
      done.push_back(i);
      by.push_back(std::this_thread::get_id());
    }));
  }
  works.push_back(companion.give([&] { all_done.set_value(); }));
  all_done.get_future().wait();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(done.at(static_cast<std::size_t>(i)), i);
  EXPECT_EQ(by, std::vector<std::thread::id>(100, by.front()));
  EXPECT_NE(by.front(), std::this_thread::get_id());
}

TEST(Companion, WhoAsksDoesWhatIsNotBegun) {
  Companion companion;
  Busy busy(companion);
  std::thread::id by;
  auto work = companion.give([&] { by = std::this_thread::get_id(); });
  work.get();
  EXPECT_EQ(by, std::this_thread::get_id());
  EXPECT_FALSE(work.valid());
  busy.release();
}

TEST(Companion, WhatIsTakenBackNeverBegins) {
  bool done = false;
  {
    Companion companion;
    Busy busy(companion);
    auto work = companion.give([&] { done = true; });
    work.take_back();
    const auto forgotten = companion.give([&] { done = true; });
    busy.release();
  }
  EXPECT_FALSE(done);
}

TEST(Companion, EndOfWorkWaitsForIt) {
  Companion companion;
  bool done = false;
  {
    std::promise<void> begun;
    const auto work = companion.give([&] {
      begun.set_value();
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      done = true;
    });
    begun.get_future().wait();
  }
  EXPECT_TRUE(done);
}

TEST(Companion, WhatWorkThrowsArrives) {
  Companion companion;
  const auto fail = [] { throw std::runtime_error("no"); };
  EXPECT_THROW(companion.give(fail).get(), std::runtime_error);
  std::promise<void> begun;
  auto work = companion.give([&] {
    begun.set_value();
    fail();
  });
  begun.get_future().wait();
  EXPECT_THROW(work.take_back(), std::runtime_error);
  const auto forgotten = companion.give(fail);
  companion.give([] {}).get();
}

TEST(Companion, IsIdleWhenAllIsDone) {
  Companion companion;
  EXPECT_TRUE(companion.is_idle());
  Busy busy(companion);
  EXPECT_FALSE(companion.is_idle());
  busy.release();
  while (!companion.is_idle()) std::this_thread::yield();
}

TEST(Companion, DoesWhatItWasGivenBeforeItEnds) {
  Companion companion;
  Busy busy(companion);
  std::promise<void> done;
  const auto work = companion.give([&] { done.set_value(); });
  companion.give_no_more();
  busy.release();
  done.get_future().wait();
}

}  // namespace
}  // namespace sframe_gen
