#include "support/in_parallel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <stdexcept>
#include <vector>

#include "support/processors.hpp"

namespace sframe_gen {
namespace {

TEST(InParallel, EachIndexIsCalledOnceByOneOfTheWorkers) {
  for (const std::size_t workers : {1U, 2U, 5U}) {
    for (const std::size_t count : {0U, 1U, 3U, 1000U}) {
      std::vector<int> calls(count);
      std::vector<std::size_t> by_worker(workers);
      for_each_in_parallel(count, workers, nullptr, [&](std::size_t i, std::size_t worker) {
        ++calls[i];
        ++by_worker.at(worker);
      });
      EXPECT_EQ(calls, std::vector<int>(count, 1));
      std::size_t sum = 0;
      for (const std::size_t one : by_worker) sum += one;
      EXPECT_EQ(sum, count);
    }
  }
}

TEST(InParallel, WhatAWorkerThrowsArrives) {
  const auto fail = [](std::size_t, std::size_t) { throw std::runtime_error("no"); };
  EXPECT_THROW(for_each_in_parallel(8, 1, nullptr, fail), std::runtime_error);
  EXPECT_THROW(for_each_in_parallel(8, 3, nullptr, fail), std::runtime_error);
}

TEST(InParallel, NobodyWaitsForACompanionWhereOthersHaveDoneAll) {
  for (const std::size_t workers : {1U, 2U, 5U}) {
    std::promise<void> all_done;
    Companion companion;
    const auto busy = companion.give([&] { all_done.get_future().wait(); });
    std::vector<int> calls(1000);
    std::vector<std::size_t> by_worker(workers);
    for_each_in_parallel(calls.size(), workers, &companion, [&](std::size_t i, std::size_t worker) {
      ++calls[i];
      ++by_worker.at(worker);
    });
    EXPECT_EQ(calls, std::vector<int>(calls.size(), 1));
    if (workers > 1) {
      EXPECT_EQ(by_worker.back(), 0U);
    }
    all_done.set_value();
  }
}

TEST(InParallel, TheLastWorkerIsTheCompanionWhenItHasTime) {
  Companion companion;
  std::promise<void> may_end, last_has_begun;
  const auto busy = companion.give([&] { may_end.get_future().wait(); });
  for_each_in_parallel(2, 2, &companion, [&](std::size_t, std::size_t worker) {
    if (worker == 1) return last_has_begun.set_value();
    may_end.set_value();
    last_has_begun.get_future().wait();
  });
}

TEST(InParallel, LittleWorkIsWorthOneWorker) {
  EXPECT_EQ(workers_for(0, 100), 1U);
  EXPECT_EQ(workers_for(199, 100), 1U);
  EXPECT_GE(workers_for(1 << 20, 100), 1U);
  EXPECT_LE(workers_for(1 << 20, 100), 8U);
}

TEST(InParallel, ACompanionIsWorthLessWorkThanANewThread) {
  const std::size_t two = std::min(usable_processors(), std::size_t{2});
  EXPECT_EQ(workers_beside_companion(199, 1600), 1U);
  EXPECT_EQ(workers_beside_companion(200, 1600), two);
  EXPECT_EQ(workers_beside_companion(3199, 1600), two);
  EXPECT_EQ(workers_beside_companion(1 << 20, 1600), workers_for(1 << 20, 1600));
}

}  // namespace
}  // namespace sframe_gen
