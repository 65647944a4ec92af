#include "trace/handover.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace sframe_gen::trace {
namespace {

std::vector<int> numbers_below(int count) {
  std::vector<int> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

TEST(Handover, ItemsAreUsedInTheirOrderWhateverTheirNumber) {
  for (const int count : {0, 1, 255, 256, 257, 2047, 2048, 2049, 30'000}) {
    std::vector<int> used;
    Handover<int> handover([&](int& item) { used.push_back(item); });
    for (int i = 0; i < count; ++i) handover.add([&](int& item) { item = i; });
    handover.finish();
    EXPECT_EQ(used, numbers_below(count));
    handover.finish();
    EXPECT_EQ(used, numbers_below(count));
  }
}

TEST(Handover, FewAreUsedByNoOtherThread) {
  std::set<std::thread::id> users;
  {
    Handover<int> handover([&](int&) { users.insert(std::this_thread::get_id()); });
    for (int i = 0; i < 10; ++i) handover.add([&](int& item) { item = i; });
  }
  EXPECT_EQ(users, std::set{std::this_thread::get_id()});
}

TEST(Handover, AnotherThreadUsesItemsWhileMoreAreFilled) {
  start_workers(1);
  std::atomic<bool> is_used = false;
  Handover<int> handover([&](int&) { is_used = true; });
  for (int i = 0; i < 1024; ++i) handover.add([&](int& item) { item = i; });
  while (!is_used) std::this_thread::yield();
}

TEST(Handover, TheRoomOfItemsIsUsedAgain) {
  constexpr int count = 10'000;
  std::set<const int*> rooms;
  int used = 0;
  Handover<std::vector<int>> handover([&](std::vector<int>& item) {
    rooms.insert(item.data());
    used += item.front();
  });
  for (int i = 0; i < count; ++i) handover.add([&](std::vector<int>& item) { item.assign(1, 1); });
  handover.finish();
  EXPECT_EQ(used, count);
  EXPECT_LE(rooms.size(), 2048U);
}

TEST(Handover, WhatWasAddedIsUsedWhenTheRestFails) {
  for (const int count : {10, 1000}) {
    std::vector<int> used;
    try {
      Handover<int> handover([&](int& item) { used.push_back(item); });
      for (int i = 0; i < count; ++i) handover.add([&](int& item) { item = i; });
      throw std::runtime_error("damaged");
    } catch (const std::runtime_error&) {
      EXPECT_EQ(used, numbers_below(count));
    }
  }
}

TEST(Handover, AFailureEndsTheUseAndComesBack) {
  for (const int bad : {0, 5, 64, 1000, 9'990}) {
    std::vector<int> used;
    Handover<int> handover([&](int& item) {
      if (item == bad) throw std::runtime_error("no room");
      used.push_back(item);
    });
    const auto add_all = [&] {
      for (int i = 0; i < 10'000; ++i) handover.add([&](int& item) { item = i; });
      handover.finish();
    };
    EXPECT_THROW(add_all(), std::runtime_error);
    EXPECT_EQ(used, numbers_below(bad));
  }
}

}  // namespace
}  // namespace sframe_gen::trace
