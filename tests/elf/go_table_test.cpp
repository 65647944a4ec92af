// Which bytes are a table of Go's functions, and what one that lies does.

#include "elf/go_table.hpp"

#include <gtest/gtest.h>

#include <random>

#include "elf/go_file.hpp"
#include "elf/image.hpp"

namespace sframe_gen::elf::test {
namespace {

const Described plain{{0x50, 0x58, 0xc3}, {{0, 1}, {8, 1}, {0, 1}}, 0, "main.plain"};
const Described of_c{{0xc3}, {}, 0, "c_function"};

std::optional<GoTable> table_in(const std::vector<std::byte>& bytes) {
  return GoTable::find(Image::of_bytes(bytes, "go"));
}

TEST(GoTable, ListsFunctionsOfGo) {
  for (const std::uint32_t magic : {0xfffffff0U, 0xfffffff1U}) {
    const GoFile file({plain, of_c, plain}, {.magic = magic});
    const auto table = table_in(file.bytes);
    ASSERT_TRUE(table);
    ASSERT_EQ(table->entries().size(), 2U);
    EXPECT_EQ(table->entries()[0].start, file.starts[0]);
    EXPECT_EQ(table->entries()[0].end, file.starts[1]);
    EXPECT_EQ(table->entries()[1].start, file.starts[2]);
    EXPECT_EQ(table->name_of(table->entries()[0]), "main.plain");
    const std::vector<GoTable::Depth> steps{{0, 0}, {1, 8}, {2, 0}};
    const auto depths = table->depths_of(table->entries()[0]);
    ASSERT_TRUE(depths);
    EXPECT_EQ(depths->steps, steps);
    EXPECT_EQ(depths->end, 3U);
  }
}

TEST(GoTable, BelievesNoFunctionThatBeginsWithAFrame) {
  Described moved = plain;
  for (auto& [depth, size] : moved.depths) depth += 8;
  const GoFile file({moved});
  const auto table = table_in(file.bytes);
  ASSERT_TRUE(table);
  EXPECT_FALSE(table->depths_of(table->entries()[0]));
}

TEST(GoTable, IsNotReadOfOtherVersions) {
  for (const std::uint32_t magic : {0xfffffffbU, 0xfffffffaU, 0xfffffff2U})
    EXPECT_FALSE(table_in(GoFile({plain}, {.magic = magic}).bytes)) << magic;
}

TEST(GoTable, IsFoundAfterManyOfItsFirstNumbers) {
  Described numbers{{}, {}, 0, "numbers"};
  for (int i = 0; i < 100; ++i) numbers.code.insert(numbers.code.end(), {0xf1, 0xff, 0xff, 0xff, 0, 0, 0, 0});
  EXPECT_TRUE(table_in(GoFile({numbers, plain}).bytes));
}

TEST(GoTable, NeedsTheModule) {
  const GoFile file({plain});
  for (const std::size_t word : {0U, 1U, 10U, 13U, 16U, 17U, 20U, 21U, 22U}) {
    std::vector<std::byte> bytes = file.bytes;
    bytes[file.module_offset + word * 8] ^= std::byte{1};
    EXPECT_FALSE(table_in(bytes)) << word;
  }
}

TEST(GoTable, IsNotMetByChance) {
  const GoFile file({plain});
  std::mt19937_64 random(1);
  for (int round = 0; round < 10'000; ++round) {
    std::vector<std::byte> bytes = file.bytes;
    // In every other one, only what leads to the parts of the table.
    for (std::uint64_t at = round % 2 == 0 ? 0 : 8; at < 72; ++at)
      bytes[file.table_offset + at] = static_cast<std::byte>(random());
    ASSERT_FALSE(table_in(bytes));
  }
}

}  // namespace
}  // namespace sframe_gen::elf::test
