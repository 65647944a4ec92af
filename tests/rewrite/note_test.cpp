#include <gtest/gtest.h>

#include "elf/notes.hpp"
#include "support/bytes.hpp"
#include "toolbox.hpp"

namespace sframe_gen::elf::test {
namespace {

const InputOrigin origin{"a.out", ".note"};

std::vector<std::byte> note(std::string_view owner, std::size_t descriptor_size, std::size_t padding) {
  ByteWriter writer(Endian::Little);
  writer.u32(static_cast<std::uint32_t>(owner.size() + 1));
  writer.u32(static_cast<std::uint32_t>(descriptor_size));
  writer.u32(NT_GNU_BUILD_ID);
  for (const char c : owner) writer.u8(static_cast<std::uint8_t>(c));
  writer.u8(0);
  while (writer.size() % padding != 0) writer.u8(0);
  for (std::size_t i = 0; i < descriptor_size; ++i) writer.u8(0xab);
  while (writer.size() % padding != 0) writer.u8(0);
  return writer.release();
}

TEST(Note, ReadsNotesOneAfterTheOther) {
  auto bytes = note("GNU", 5, 4);
  const auto second = note("Go", 3, 4);
  bytes.insert(bytes.end(), second.begin(), second.end());
  const auto notes = read_notes(bytes, 4, Endian::Little, origin);
  ASSERT_EQ(notes.size(), 2U);
  EXPECT_EQ(notes[0].owner, "GNU");
  EXPECT_EQ(notes[0].descriptor.size(), 5U);
  EXPECT_EQ(notes[1].owner, "Go");
  EXPECT_EQ(notes[1].type, static_cast<std::uint32_t>(NT_GNU_BUILD_ID));
}

TEST(Note, PadsToEightWhereTheSectionIsAlignedSo) {
  const auto bytes = note("GNUUUUU", 4, 8);
  const auto notes = read_notes(bytes, 8, Endian::Little, origin);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0].owner, "GNUUUUU");
}

TEST(Note, LastNoteNeedsNoPadding) {
  auto bytes = note("GNU", 5, 4);
  bytes.resize(bytes.size() - 3);
  EXPECT_EQ(read_notes(bytes, 4, Endian::Little, origin).size(), 1U);
}

TEST(Note, NamesWhatIsCutOff) {
  auto bytes = note("GNU", 5, 4);
  bytes.resize(bytes.size() - 4);
  EXPECT_NE(
      failure_of([&] { read_notes(bytes, 4, Endian::Little, origin); }).find("a.out: .note+0x10: descriptor of a note"),
      std::string::npos);
}

TEST(Note, OfPropertiesIsFoundAmongOthers) {
  std::vector<std::byte> bytes(32);
  EXPECT_FALSE(has_property_note(bytes, Endian::Little));
  auto property = note("GNU", 16, 8);
  EXPECT_FALSE(has_property_note(property, Endian::Little)) << "a build-id";
  property[8] = std::byte{NT_GNU_PROPERTY_TYPE_0};
  EXPECT_TRUE(has_property_note(property, Endian::Little));
  EXPECT_FALSE(has_property_note(property, Endian::Big));
  bytes.insert(bytes.end(), property.begin(), property.end());
  EXPECT_TRUE(has_property_note(bytes, Endian::Little));
  EXPECT_FALSE(has_property_note(std::span(bytes).first(32 + 15), Endian::Little));
}

TEST(Note, HugeSizesAreMalformed) {
  auto bytes = note("GNU", 4, 4);
  bytes[4] = bytes[5] = bytes[6] = bytes[7] = std::byte{0xff};
  EXPECT_THROW(read_notes(bytes, 4, Endian::Little, origin), MalformedInput);
}

}  // namespace
}  // namespace sframe_gen::elf::test
