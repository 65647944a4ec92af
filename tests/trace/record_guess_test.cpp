#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "trace/perf/recording_file.hpp"

namespace sframe_gen::trace {
namespace {

constexpr std::size_t record_size = 8240;

/// So many samples of zeros.
std::vector<std::byte> records_of(std::size_t count) {
  std::vector<std::byte> bytes(count * record_size);
  for (std::size_t at = 0; at < bytes.size(); at += record_size) {
    bytes[at] = std::byte{9};
    bytes[at + 6] = std::byte{record_size & 0xff};
    bytes[at + 7] = std::byte{record_size >> 8U};
  }
  return bytes;
}

TEST(RecordGuess, FindsTheFirstBehindTheMiddle) {
  const auto bytes = records_of(4001);
  EXPECT_EQ(guess_record(bytes, Endian::Little), 2001 * record_size);
}

TEST(RecordGuess, OfASmallRecordingNoneIsWorthIt) {
  EXPECT_EQ(guess_record(records_of(100), Endian::Little), std::nullopt);
}

TEST(RecordGuess, NothingLooksLikeRecords) {
  const std::vector<std::byte> zeros(std::size_t{32} << 20U), ones(zeros.size(), std::byte{1});
  EXPECT_EQ(guess_record(zeros, Endian::Little), std::nullopt);
  EXPECT_EQ(guess_record(ones, Endian::Little), std::nullopt);
  EXPECT_EQ(guess_record(records_of(4001), Endian::Big), std::nullopt);
}

}  // namespace
}  // namespace sframe_gen::trace
