#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "trace/record/ring.hpp"

namespace sframe_gen::test {
namespace {

TEST(RecordQueue, HasNoRoomOnceItIsFull) {
  trace::record::RecordQueue queue(1000);
  EXPECT_TRUE(queue.has_room());
  queue.put({{1, std::vector<std::byte>(1000)}});
  EXPECT_FALSE(queue.has_room());
  EXPECT_EQ(queue.take()->front().time, 1U);
  EXPECT_TRUE(queue.has_room());
  queue.end();
  EXPECT_FALSE(queue.take());
}

}  // namespace
}  // namespace sframe_gen::test
