#include "support/byte_chunks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace sframe_gen {
namespace {

/// Bytes that count on from `first`.
std::vector<std::byte> counting(std::size_t size, std::size_t first) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>((first + i) * 7 >> 3U);
  return bytes;
}

std::size_t chunks_of(const ByteChunks& chunks) {
  std::size_t count = 0;
  chunks.for_each_chunk([&](std::span<const std::byte>) { ++count; });
  return count;
}

TEST(ByteChunks, HoldsWhatIsAppendedInOrder) {
  ByteChunks chunks;
  std::vector<std::byte> expected;
  for (const std::size_t size : {1U, 0U, 20'000U, 20'000U, 100'000U, 3U, 40'000U}) {
    const std::vector<std::byte> more = counting(size, expected.size());
    chunks.append(more);
    expected.insert(expected.end(), more.begin(), more.end());
    EXPECT_EQ(chunks.size(), expected.size());
  }
  EXPECT_GT(chunks_of(chunks), 2U);
  EXPECT_EQ(joined(chunks), expected);
}

TEST(ByteChunks, BytesStayWhereTheyAre) {
  ByteChunks chunks, after;
  const std::vector<std::byte> bytes = counting(100, 0);
  const std::span<const std::byte> first = chunks.append(bytes), second = after.append(bytes);
  for (int i = 0; i < 10'000; ++i) chunks.append(bytes);
  chunks.append(std::move(after));
  const ByteChunks moved = std::move(chunks);
  std::vector<const std::byte*> begins;
  moved.for_each_chunk([&](std::span<const std::byte> chunk) { begins.push_back(chunk.data()); });
  EXPECT_EQ(begins.front(), first.data());
  EXPECT_EQ(begins.back(), second.data());
  EXPECT_TRUE(std::ranges::equal(first, bytes));
  EXPECT_TRUE(std::ranges::equal(second, bytes));
}

TEST(ByteChunks, CountsOnlyWhatIsFilledOfARoom) {
  ByteChunks chunks;
  std::vector<std::byte> expected;
  for (std::size_t i = 0; i < 3000; ++i) {
    const std::vector<std::byte> more = counting(i % 40, i);
    chunks.append_filled(1000, [&](std::byte* place) { return std::ranges::copy(more, place).out; });
    expected.insert(expected.end(), more.begin(), more.end());
  }
  EXPECT_EQ(joined(chunks), expected);
}

TEST(ByteChunks, TakesMoreAfterAllWasTaken) {
  ByteChunks chunks, taken;
  chunks.append(counting(100, 0));
  taken.append(std::move(chunks));
  chunks = {};
  chunks.append(counting(50, 3));
  EXPECT_EQ(joined(chunks), counting(50, 3));
  taken.append(std::move(chunks));
  EXPECT_EQ(taken.size(), 150U);
}

}  // namespace
}  // namespace sframe_gen
