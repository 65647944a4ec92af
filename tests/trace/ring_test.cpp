#include "trace/record/ring.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "sframe_gen/error.hpp"
#include "support/bytes.hpp"

namespace sframe_gen::test {
namespace {

constexpr std::size_t ring_size = 64;

/// A record of 8 bytes or more: a number, and zeros.
std::vector<std::byte> numbered_record(std::uint32_t number, std::uint16_t size) {
  ByteWriter record(host_endian);
  record.u32(number);
  record.u16(0);
  record.u16(size);
  while (record.size() < size) record.u8(0);
  return record.release();
}

/// What a ring has when the records were written from position `tail` on.
std::vector<std::byte> ring_with(const std::vector<std::vector<std::byte>>& records, std::uint64_t tail) {
  std::vector<std::byte> ring(ring_size);
  for (const auto& record : records)
    for (const std::byte byte : record) ring[tail++ % ring_size] = byte;
  return ring;
}

std::vector<std::string> taken(const std::vector<std::byte>& ring, std::uint64_t tail, std::uint64_t head) {
  std::vector<std::string> found;
  trace::record::take_records(ring, tail, head, [&](std::span<const std::byte> record) {
    found.push_back(std::to_string(load<std::uint32_t>(record, host_endian)) + ":" + std::to_string(record.size()));
  });
  return found;
}

TEST(Ring, HandsOutRecordsInOrder) {
  const std::vector ring = ring_with({numbered_record(1, 16), numbered_record(2, 8), numbered_record(3, 40)}, 0);
  EXPECT_EQ(taken(ring, 0, 64), (std::vector<std::string>{"1:16", "2:8", "3:40"}));
  EXPECT_EQ(taken(ring, 16, 24), (std::vector<std::string>{"2:8"}));
  EXPECT_EQ(taken(ring, 24, 24), std::vector<std::string>{});
}

TEST(Ring, PutsARecordTogetherThatGoesOnAtTheBegin) {
  const std::uint64_t tail = ~std::uint64_t{0} - 39;  // 40 bytes before positions begin again, too
  const std::vector ring = ring_with({numbered_record(1, 32), numbered_record(2, 24)}, tail);
  EXPECT_EQ(taken(ring, tail, tail + 56), (std::vector<std::string>{"1:32", "2:24"}));
}

TEST(Ring, RefusesWhatTheKernelDoesNotWrite) {
  EXPECT_THROW(taken(ring_with({numbered_record(1, 16)}, 0), 0, 8), MalformedInput);
  EXPECT_THROW(taken(ring_with({numbered_record(1, 7)}, 0), 0, 16), MalformedInput);
  EXPECT_THROW(taken(ring_with({numbered_record(1, 16)}, 0), 0, 4), MalformedInput);
  EXPECT_THROW(taken(ring_with({numbered_record(1, 16)}, 0), 0, 72), MalformedInput);
}

TEST(RecordOrder, BringsRecordsOfSeveralRingsIntoOneOrder) {
  trace::record::RecordOrder order;
  for (const std::uint64_t time : std::vector<std::uint64_t>{1, 4, 9, 2, 3, 4})
    order.add({time, std::vector<std::byte>(order.empty() ? 0 : 1)});
  const auto times = [&](std::uint64_t before) {
    std::vector<std::uint64_t> found;
    for (const trace::record::TakenRecord& record : order.take_before(before)) found.push_back(record.time);
    return found;
  };
  EXPECT_EQ(times(4), (std::vector<std::uint64_t>{1, 2, 3}));
  EXPECT_EQ(times(4), std::vector<std::uint64_t>{});
  EXPECT_EQ(times(100), (std::vector<std::uint64_t>{4, 4, 9}));
  EXPECT_TRUE(order.empty());
}

}  // namespace
}  // namespace sframe_gen::test
