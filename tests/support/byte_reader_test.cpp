#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "support/bytes.hpp"

namespace sframe_gen {
namespace {

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

const InputOrigin section_of_a_out{"a.out", ".eh_frame"};

/// The message of the MalformedInput that reading `bytes` throws; empty when it throws none.
std::string failure_of(const std::vector<std::byte>& bytes, const std::function<void(ByteReader&)>& read,
                       std::uint64_t base_offset = 0) {
  ByteReader reader(bytes, Endian::Little, section_of_a_out, base_offset);
  try {
    read(reader);
  } catch (const MalformedInput& failure) {
    return failure.what();
  }
  return {};
}

TEST(ByteReader, LittleEndian) {
  const auto bytes =
      bytes_of({0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff});
  ByteReader reader(bytes, Endian::Little, section_of_a_out);
  EXPECT_EQ(reader.u8("u8"), 0x11U);
  EXPECT_EQ(reader.u16("u16"), 0x3322U);
  EXPECT_EQ(reader.u32("u32"), 0x77665544U);
  EXPECT_EQ(reader.u64("u64"), 0xffeeddccbbaa9988U);
  EXPECT_TRUE(reader.at_end());
}

TEST(ByteReader, BigEndian) {
  const auto bytes =
      bytes_of({0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff});
  ByteReader reader(bytes, Endian::Big, section_of_a_out);
  EXPECT_EQ(reader.u8("u8"), 0x11U);
  EXPECT_EQ(reader.u16("u16"), 0x2233U);
  EXPECT_EQ(reader.u32("u32"), 0x44556677U);
  EXPECT_EQ(reader.u64("u64"), 0x8899aabbccddeeffU);
  EXPECT_TRUE(reader.at_end());
}

TEST(ByteReader, SignedNumbers) {
  const auto bytes =
      bytes_of({0x80, 0xfe, 0xff, 0x00, 0x00, 0x00, 0x80, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff});
  ByteReader reader(bytes, Endian::Little, section_of_a_out);
  EXPECT_EQ(reader.i8("i8"), -128);
  EXPECT_EQ(reader.i16("i16"), -2);
  EXPECT_EQ(reader.i32("i32"), std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(reader.i64("i64"), -1);
}

TEST(ByteReader, KnowsWhereItIs) {
  const auto bytes = bytes_of({1, 2, 3, 4});
  ByteReader reader(bytes, Endian::Little, section_of_a_out, 0x20);
  EXPECT_EQ(reader.offset(), 0x20U);
  EXPECT_EQ(reader.left(), 4U);
  reader.u8("first");
  EXPECT_EQ(reader.offset(), 0x21U);
  const auto taken = reader.take(2, "two bytes");
  EXPECT_EQ(std::vector(taken.begin(), taken.end()), bytes_of({2, 3}));
  EXPECT_EQ(reader.left(), 1U);
  EXPECT_FALSE(reader.at_end());
  EXPECT_TRUE(reader.take(0, "nothing").empty());
}

TEST(ByteReader, SaysWhatDoesNotFit) {
  const auto three = bytes_of({1, 2, 3});
  EXPECT_EQ(failure_of(three, [](ByteReader& r) { r.u32("number of functions"); }),
            "a.out: .eh_frame+0x0: number of functions needs 4 bytes, but only 3 are left");
  EXPECT_EQ(failure_of(three, [](ByteReader& r) { r.take(2, "head"), r.u16("length"); }),
            "a.out: .eh_frame+0x2: length needs 2 bytes, but only 1 is left");
  EXPECT_EQ(failure_of(
                {}, [](ByteReader& r) { r.u8("version"); }, 0x1c),
            "a.out: .eh_frame+0x1c: version needs 1 byte, but only 0 are left");
}

TEST(ByteReader, HugeSizesDoNotWrapAround) {
  const auto three = bytes_of({1, 2, 3});
  EXPECT_EQ(failure_of(three, [](ByteReader& r) { r.u8("u8"), r.take(UINT64_MAX, "block"); }),
            "a.out: .eh_frame+0x1: block needs 18446744073709551615 bytes, but only 2 are left");
}

TEST(ByteReader, StaysInPlaceWhenAReadFails) {
  const auto bytes = bytes_of({1, 2, 3});
  ByteReader reader(bytes, Endian::Little, section_of_a_out);
  EXPECT_THROW(reader.u64("u64"), MalformedInput);
  EXPECT_EQ(reader.u16("u16"), 0x0201U);
}

struct Unsigned {
  std::vector<std::byte> bytes;
  std::uint64_t value;
};

TEST(Uleb128, Values) {
  const std::vector<Unsigned> all{
      {bytes_of({0x00}), 0},
      {bytes_of({0x7f}), 127},
      {bytes_of({0x80, 0x01}), 128},
      {bytes_of({0xe5, 0x8e, 0x26}), 624485},  // DWARF 5, figure 24 and its well-known cousin
      {bytes_of({0xb9, 0x64}), 12857},
      {bytes_of({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}), UINT64_MAX},
      {bytes_of({0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01}), std::uint64_t{1} << 63U},
      {bytes_of({0x81, 0x80, 0x00}), 1},  // padded, as assemblers write values they patch later
      {bytes_of({0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00}), 1},
  };
  for (const Unsigned& one : all) {
    ByteReader reader(one.bytes, Endian::Little, section_of_a_out);
    EXPECT_EQ(reader.uleb128("value"), one.value);
    EXPECT_TRUE(reader.at_end());
  }
}

TEST(Uleb128, BeyondSixtyFourBits) {
  const std::string message = "a.out: .eh_frame+0x10: code alignment factor does not fit in 64 bits";
  const auto read = [](ByteReader& reader) { reader.uleb128("code alignment factor"); };
  // Bit 64 in the tenth byte; in the eleventh; and far out.
  EXPECT_EQ(failure_of(bytes_of({0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02}), read, 0x10), message);
  EXPECT_EQ(failure_of(bytes_of({0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01}), read, 0x10),
            message);
  std::vector<std::byte> long_one(40, std::byte{0x80});
  long_one.push_back(std::byte{0x40});
  EXPECT_EQ(failure_of(long_one, read, 0x10), message);
}

TEST(Uleb128, WithoutEnd) {
  EXPECT_EQ(failure_of(bytes_of({0x80, 0x80}), [](ByteReader& r) { r.uleb128("length"); }),
            "a.out: .eh_frame+0x2: length needs 1 byte, but only 0 are left");
  // However long, an endless one is an error, not a wrapped shift.
  EXPECT_NE(failure_of(std::vector<std::byte>(100000, std::byte{0x80}), [](ByteReader& r) { r.uleb128("length"); }),
            "");
}

struct Signed {
  std::vector<std::byte> bytes;
  std::int64_t value;
};

TEST(Sleb128, Values) {
  constexpr std::int64_t smallest = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  const std::vector<Signed> all{
      {bytes_of({0x00}), 0},
      {bytes_of({0x02}), 2},
      {bytes_of({0x7e}), -2},
      {bytes_of({0x78}), -8},
      {bytes_of({0x3f}), 63},
      {bytes_of({0x40}), -64},
      {bytes_of({0xc0, 0x00}), 64},
      {bytes_of({0xff, 0x00}), 127},
      {bytes_of({0x81, 0x7f}), -127},
      {bytes_of({0x80, 0x7f}), -128},
      {bytes_of({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00}), largest},
      {bytes_of({0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f}), smallest},
      {bytes_of({0xff, 0xff, 0xff, 0x7f}), -1},  // padded
      {bytes_of({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}), -1},
      {bytes_of({0x85, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00}), 5},
  };
  for (const Signed& one : all) {
    ByteReader reader(one.bytes, Endian::Little, section_of_a_out);
    EXPECT_EQ(reader.sleb128("value"), one.value);
    EXPECT_TRUE(reader.at_end());
  }
}

TEST(Sleb128, BeyondSixtyFourBits) {
  const std::string message = "a.out: .eh_frame+0x0: data alignment factor does not fit in 64 bits";
  const auto read = [](ByteReader& reader) { reader.sleb128("data alignment factor"); };
  // 2^63; -2^63 - 1; a tenth byte that is neither; an eleventh that turns the sign.
  EXPECT_EQ(failure_of(bytes_of({0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01}), read), message);
  EXPECT_EQ(failure_of(bytes_of({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7e}), read), message);
  EXPECT_EQ(failure_of(bytes_of({0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x3f}), read), message);
  EXPECT_EQ(failure_of(bytes_of({0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0xff, 0x00}), read), message);
  EXPECT_EQ(failure_of(bytes_of({0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f}), read), message);
}

}  // namespace
}  // namespace sframe_gen
