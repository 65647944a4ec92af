#include "elf/symbol_names.hpp"

#include <gtest/gtest.h>

#include "elf/image.hpp"

namespace sframe_gen::elf::test {
namespace {

/// This program has thousands of symbols, with aliases, and labels inside functions.
TEST(SymbolNames, AreTheSameForFewAddressesAsForAll) {
  const Image image = Image::open("/proc/self/exe");
  SymbolNames all(image);
  const Section* const text = image.find_section(".text");
  ASSERT_NE(text, nullptr);
  const std::uint64_t begin = text->header.sh_addr, size = text->header.sh_size;
  std::vector<std::uint64_t> addresses{0, 1, begin - 1, begin, begin, begin + size, UINT64_MAX};
  for (std::uint64_t i = 0; i < 400; ++i) addresses.push_back(begin + size / 400 * (399 - i));
  for (std::uint64_t at = begin; addresses.size() < 900; at = all.begin_after(at)) {
    ASSERT_LT(at, UINT64_MAX);
    addresses.push_back(at);
  }
  SymbolNames few(image, addresses);
  std::size_t named = 0;
  for (const std::uint64_t address : addresses) {
    const std::string name = all.name_at(address);
    EXPECT_EQ(few.name_at(address), name) << address;
    if (!name.empty()) ++named;
  }
  EXPECT_GT(named, 700U);
  SymbolNames one(image, {begin});
  EXPECT_EQ(one.name_at(begin), all.name_at(begin));
}

}  // namespace
}  // namespace sframe_gen::elf::test
