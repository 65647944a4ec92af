// Bytes by hand: what a reader sees (SFrame V3, sections 2.2 to 2.4 and 3).

#include "emit/encoder.hpp"

#include <gtest/gtest.h>

#include "emit/dialects.hpp"
#include "emit/row_encoder.hpp"

namespace sframe_gen::test {
namespace {

using sframe::DescriptorType;
using sframe::PcType;
using sframe::Recovery;
using sframe::Row;
using sframe::Rule;

std::string hex_bytes(std::span<const std::byte> bytes) {
  static constexpr const char* digits = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    if (!text.empty()) text += ' ';
    text += digits[std::to_integer<unsigned>(byte) >> 4U];
    text += digits[std::to_integer<unsigned>(byte) & 15U];
  }
  return text;
}

std::string encoded(const Row& row, DescriptorType type, sframe::RowAddressWidth width = sframe::RowAddressWidth::One) {
  ByteWriter writer(Endian::Little);
  emit::encode_row(writer, row, width, type, amd64_v3);
  return hex_bytes(writer.bytes());
}
std::string encoded_default(const Recovery& recovery) {
  return encoded({0, recovery}, DescriptorType::Default);
}
std::string encoded_flexible(const Recovery& recovery) {
  return encoded({0, recovery}, DescriptorType::Flexible);
}

Rule on(std::uint32_t base, std::int32_t offset) {
  return {base, offset, false};
}
Rule at(std::uint32_t base, std::int32_t offset) {
  return {base, offset, true};
}
Rule at_cfa(std::int32_t offset) {
  return {std::nullopt, offset, true};
}

TEST(EncodeRow, SpBase) {
  EXPECT_EQ(encoded_default({on(7, 8), {}, {}, false}), "00 03 08");
}
TEST(EncodeRow, FpBaseWithSavedFp) {
  EXPECT_EQ(encoded_default({on(6, 16), {}, at_cfa(-16), false}), "00 04 10 f0");
}
TEST(EncodeRow, RaUndefined) {
  EXPECT_EQ(encoded({4, std::nullopt}, DescriptorType::Default), "04 00");
}
TEST(EncodeRow, RaUndefinedInAFlexibleDescriptor) {
  EXPECT_EQ(encoded({4, std::nullopt}, DescriptorType::Flexible), "04 00");
}

// The narrowest width that holds every word of the row
TEST(EncodeRow, WordWidths) {
  EXPECT_EQ(encoded_default({on(7, 127), {}, {}, false}), "00 03 7f");
  EXPECT_EQ(encoded_default({on(7, 128), {}, {}, false}), "00 23 80 00");
  EXPECT_EQ(encoded_default({on(7, -128), {}, {}, false}), "00 03 80");
  EXPECT_EQ(encoded_default({on(7, -129), {}, {}, false}), "00 23 7f ff");
  EXPECT_EQ(encoded_default({on(7, 32767), {}, {}, false}), "00 23 ff 7f");
  EXPECT_EQ(encoded_default({on(7, 32768), {}, {}, false}), "00 43 00 80 00 00");
  EXPECT_EQ(encoded_default({on(7, -32768), {}, {}, false}), "00 23 00 80");
  EXPECT_EQ(encoded_default({on(7, -32769), {}, {}, false}), "00 43 ff 7f ff ff");
  EXPECT_EQ(encoded_default({on(7, 8), {}, at_cfa(-136), false}), "00 25 08 00 78 ff");
}

TEST(EncodeRow, RowAddressWidths) {
  const Row row{0x34, Recovery{on(7, 8), {}, {}, false}};
  EXPECT_EQ(encoded(row, DescriptorType::Default, sframe::RowAddressWidth::Two), "34 00 03 08");
  EXPECT_EQ(encoded(row, DescriptorType::Default, sframe::RowAddressWidth::Four), "34 00 00 00 03 08");
}

// Flexible: pairs of control and offset for CFA, RA, FP
TEST(EncodeRow, FlexibleCfaOnly) {
  EXPECT_EQ(encoded_flexible({on(7, 8), {}, {}, false}), "00 04 39 08");
}
TEST(EncodeRow, FlexibleCfaInMemory) {
  EXPECT_EQ(encoded_flexible({at(6, -8), {}, {}, false}), "00 04 33 f8");
}
TEST(EncodeRow, FlexibleRaInRegister) {
  EXPECT_EQ(encoded_flexible({on(7, 8), on(3, 0), {}, false}), "00 08 39 08 19 00");
}
TEST(EncodeRow, FlexibleFpAloneHasPaddingForRa) {
  EXPECT_EQ(encoded_flexible({on(10, 0), {}, at(6, 0), false}), "00 0a 51 00 00 33 00");
}
TEST(EncodeRow, FlexibleAllThree) {
  EXPECT_EQ(encoded_flexible({on(7, 8), at_cfa(-24), at_cfa(-16), false}), "00 0c 39 08 02 e8 02 f0");
}
TEST(EncodeRow, ControlWordsAreUnsigned) {
  EXPECT_EQ(encoded_flexible({on(31, 8), {}, {}, false}), "00 04 f9 08");
  EXPECT_EQ(encoded_flexible({on(40, 8), {}, {}, false}), "00 24 41 01 08 00");
  EXPECT_EQ(encoded_flexible({on((1U << 29U) - 1, 8), {}, {}, false}), "00 44 f9 ff ff ff 08 00 00 00");
}
TEST(EncodeRow, SignalTrampoline) {
  EXPECT_EQ(encoded_flexible({at(7, 160), at(7, 168), at(7, 120), false}), "00 2c 3b 00 a0 00 3b 00 a8 00 3b 00 78 00");
}

TEST(RowAddressWidth, FollowsTheFunctionsSize) {
  EXPECT_EQ(emit::row_address_width(1), sframe::RowAddressWidth::One);
  EXPECT_EQ(emit::row_address_width(255), sframe::RowAddressWidth::One);
  EXPECT_EQ(emit::row_address_width(256), sframe::RowAddressWidth::Two);
  EXPECT_EQ(emit::row_address_width(65535), sframe::RowAddressWidth::Two);
  EXPECT_EQ(emit::row_address_width(65536), sframe::RowAddressWidth::Four);
}

sframe::Function leaf(std::uint64_t start, std::uint32_t size) {
  return {start,
          size,
          false,
          false,
          PcType::Increment,
          0,
          DescriptorType::Default,
          {{0, Recovery{on(7, 8), {}, {}, false}}}};
}

TEST(SectionEncoder, HeaderIndexAndRows) {
  emit::SectionEncoder encoder(amd64_v3);
  encoder.add(leaf(0x1000, 5));
  sframe::Function plt{0x1010,
                       0x20,
                       false,
                       false,
                       PcType::Mask,
                       16,
                       DescriptorType::Default,
                       {{0, Recovery{on(7, 8), {}, {}, false}}, {11, Recovery{on(7, 16), {}, {}, false}}}};
  encoder.add(plt);
  const auto bytes = encoder.encode(0x2000);
  ASSERT_EQ(bytes.size(), encoder.encoded_size());
  EXPECT_EQ(hex_bytes(std::span(bytes).first(28)),
            "e2 de 03 05 03 00 f8 00 02 00 00 00 03 00 00 00 13 00 00 00 00 00 00 00 20 00 00 00");
  // Start: relative to its own field at 0x201c.
  EXPECT_EQ(hex_bytes(std::span(bytes).subspan(28, 16)), "e4 ef ff ff ff ff ff ff 05 00 00 00 00 00 00 00");
  EXPECT_EQ(hex_bytes(std::span(bytes).subspan(44, 16)), "e4 ef ff ff ff ff ff ff 20 00 00 00 08 00 00 00");
  EXPECT_EQ(hex_bytes(std::span(bytes).subspan(60)), "01 00 00 00 00 00 03 08 02 00 10 00 10 00 03 08 0b 03 10");
}

TEST(SectionEncoder, SignalBitAndFlexibleType) {
  emit::SectionEncoder encoder(amd64_v3);
  sframe::Function function = leaf(0x1000, 5);
  function.signal_frame = true;
  function.type = DescriptorType::Flexible;
  encoder.add(function);
  const auto bytes = encoder.encode(0);
  EXPECT_EQ(hex_bytes(std::span(bytes).subspan(44)), "01 00 80 01 00 00 04 39 08");
}

TEST(SectionEncoder, AppendEqualsAddingInOrder) {
  emit::SectionEncoder whole(amd64_v3), first(amd64_v3), second(amd64_v3);
  for (const std::uint64_t start : {0x1000U, 0x1010U, 0x1020U}) whole.add(leaf(start, 5));
  first.add(leaf(0x1000, 5));
  second.add(leaf(0x1010, 5));
  second.add(leaf(0x1020, 5));
  first.append(second);
  EXPECT_EQ(first.encode(0x3000), whole.encode(0x3000));
  EXPECT_EQ(first.row_count(), 3U);
}

}  // namespace
}  // namespace sframe_gen::test
