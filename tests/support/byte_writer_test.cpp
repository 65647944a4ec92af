#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "support/bytes.hpp"

namespace sframe_gen {
namespace {

std::string hex_of(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    constexpr const char* digits = "0123456789abcdef";
    text += digits[std::to_integer<unsigned>(byte >> 4)];
    text += digits[std::to_integer<unsigned>(byte & std::byte{15})];
  }
  return text;
}

ByteWriter writer_with_each_width(Endian endian) {
  ByteWriter writer(endian);
  writer.u8(0x11);
  writer.u16(0x2233);
  writer.u32(0x44556677);
  writer.u64(0x8899aabbccddeeff);
  return writer;
}

TEST(ByteWriter, LittleEndian) {
  EXPECT_EQ(hex_of(writer_with_each_width(Endian::Little).bytes()),
            "11"
            "3322"
            "77665544"
            "ffeeddccbbaa9988");
}

TEST(ByteWriter, BigEndian) {
  EXPECT_EQ(hex_of(writer_with_each_width(Endian::Big).bytes()),
            "11"
            "2233"
            "44556677"
            "8899aabbccddeeff");
}

TEST(ByteWriter, AppendsBytesAndHandsThemOver) {
  constexpr std::array more{std::byte{0xab}, std::byte{0xcd}};
  ByteWriter writer(Endian::Big);
  writer.reserve(10);
  writer.u8(1);
  writer.append_bytes(more);
  writer.append_bytes({});
  EXPECT_EQ(hex_of(writer.release()), "01abcd");
}

TEST(ByteWriter, AppendsWhatIsFilledOfARoom) {
  constexpr std::array<std::byte, 100> many{std::byte{0xab}, std::byte{0xcd}};
  ByteWriter writer(Endian::Big);
  for (const std::size_t count : {2U, 0U, 1U})
    writer.append_filled(many.size(), [&](std::byte* place) {
      std::ranges::copy(many, place);
      return place + count;
    });
  EXPECT_EQ(hex_of(writer.bytes()), "abcdab");
  EXPECT_EQ(writer.size(), 3U);
}

TEST(ByteWriter, WhatItWritesTheReaderReads) {
  const InputOrigin origin{"file", "section"};
  for (const Endian endian : {Endian::Little, Endian::Big}) {
    const ByteWriter writer = writer_with_each_width(endian);
    ByteReader reader(writer.bytes(), endian, origin);
    EXPECT_EQ(reader.u8("u8"), 0x11U);
    EXPECT_EQ(reader.u16("u16"), 0x2233U);
    EXPECT_EQ(reader.u32("u32"), 0x44556677U);
    EXPECT_EQ(reader.u64("u64"), 0x8899aabbccddeeffU);
  }
}

}  // namespace
}  // namespace sframe_gen
