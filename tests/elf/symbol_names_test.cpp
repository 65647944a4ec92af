#include "elf/symbol_names.hpp"

#include <gtest/gtest.h>

#include "elf/image.hpp"

namespace sframe_gen::elf::test {
namespace {

/// This program has thousands of symbols, with aliases, and labels inside functions.
TEST(SymbolNames, AreThoseOfSymbolsThatReachTheAddress) {
  const Image image = Image::open("/proc/self/exe");
  SymbolNames all(image);
  const Section* const text = image.find_section(".text");
  ASSERT_NE(text, nullptr);
  const std::uint64_t begin = text->header.sh_addr, size = text->header.sh_size;
  EXPECT_EQ(all.name_at(0), "");
  EXPECT_EQ(all.name_at(UINT64_MAX), "");
  std::vector<std::uint64_t> addresses{begin};
  for (std::uint64_t i = 0; i < 400; ++i) addresses.push_back(begin + size / 400 * (399 - i));
  for (std::uint64_t at = begin; addresses.size() < 900; at = all.begin_after(at)) {
    ASSERT_LT(at, UINT64_MAX);
    addresses.push_back(at);
  }
  std::size_t named = 0;
  for (const std::uint64_t address : addresses) {
    const auto symbol = all.symbol_at(address);
    if (!symbol) continue;
    EXPECT_TRUE(symbol->begin <= address && address < symbol->end) << symbol->name;
    EXPECT_EQ(all.name_at(address), symbol->name);
    ++named;
  }
  EXPECT_GT(named, 700U);
}

}  // namespace
}  // namespace sframe_gen::elf::test
