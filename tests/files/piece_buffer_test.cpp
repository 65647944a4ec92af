#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

#include "files/file_pieces.hpp"

namespace sframe_gen::files {
namespace {

constexpr std::size_t room = std::size_t{1} << 16;

TEST(PieceBuffer, KeepsItsPlace) {
  PieceBuffer buffer;
  std::byte* const place = buffer.with_room_for(room);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(place) % 64, 0U);
  std::fill_n(place, room, std::byte{7});
  EXPECT_EQ(buffer.with_room_for(room / 2), place);
  EXPECT_EQ(place[room - 1], std::byte{7});
}

TEST(PieceBuffer, GrowsWhenMoreIsWanted) {
  PieceBuffer buffer;
  buffer.with_room_for(room);
  std::byte* const place = buffer.with_room_for(3 * room + 1);
  std::fill_n(place, 3 * room + 1, std::byte{2});
  EXPECT_EQ(std::count(place, place + 3 * room + 1, std::byte{2}), 3 * static_cast<std::ptrdiff_t>(room) + 1);
}

TEST(PieceBuffer, LeavesItsMemoryToTheNext) {
  const auto place_of_a_new_one = [] { return PieceBuffer().with_room_for(room); };
  std::byte* const place = place_of_a_new_one();
  EXPECT_EQ(place_of_a_new_one(), place);
  std::byte* there = nullptr;
  std::thread([&] { there = place_of_a_new_one(); }).join();
  EXPECT_EQ(there, place);
}

TEST(PieceBuffer, SharesWithNobody) {
  const auto fill_and_look = [](unsigned thread) {
    for (unsigned round = 0; round < 200; ++round) {
      PieceBuffer one, other;
      const auto value = static_cast<std::byte>(thread * 2);
      std::byte* const first = one.with_room_for(room >> round % 3);
      std::byte* const second = other.with_room_for(room << round % 3);
      std::fill_n(first, room >> round % 3, value);
      std::fill_n(second, room << round % 3, static_cast<std::byte>(thread * 2 + 1));
      EXPECT_EQ(std::count(first, first + (room >> round % 3), value), static_cast<std::ptrdiff_t>(room >> round % 3));
    }
  };
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < 4; ++i) threads.emplace_back(fill_and_look, i);
}

}  // namespace
}  // namespace sframe_gen::files
