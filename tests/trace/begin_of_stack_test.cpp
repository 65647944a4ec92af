#include "trace/walk/begin_of_stack.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace sframe_gen::test {
namespace {

constexpr std::uint64_t first_stack = 0x7fff'0000'0000, texts = first_stack + 0x10000;

/// The words from `first_stack` on.
struct FirstWords {
  std::vector<std::uint64_t> words;
  std::size_t reads = 0;

  static bool read(void* context, std::uint64_t address, void* bytes) {
    auto& self = *static_cast<FirstWords*>(context);
    ++self.reads;
    const std::uint64_t place = (address - first_stack) / sizeof(std::uint64_t);
    if (address < first_stack || place >= self.words.size()) return false;
    std::memcpy(bytes, &self.words[place], sizeof(std::uint64_t));
    return true;
  }
};

bool is_begin(FirstWords memory, std::uint64_t place = 0) {
  return trace::walk::is_begin_of_stack(host_endian, first_stack + 8 * place, FirstWords::read, &memory);
}

/// Two arguments, three variables, and AT_PHDR, AT_PAGESZ, AT_BASE, AT_ENTRY, AT_NULL.
FirstWords as_of_kernel() {
  return {{2, texts, texts + 4, 0, texts + 8, texts + 16, texts + 24, 0, 3, 0x400040, 6, 4096, 7, 0x1000, 9, 0x401000,
           0, 0}};
}

TEST(BeginOfStack, IsWhereTheArgumentsAre) {
  EXPECT_TRUE(is_begin(as_of_kernel()));
  for (std::uint64_t place = 1; place < as_of_kernel().words.size(); ++place)
    EXPECT_FALSE(is_begin(as_of_kernel(), place)) << place;
}

TEST(BeginOfStack, NeedsEveryWord) {
  for (std::size_t size = 0; size < as_of_kernel().words.size(); ++size) {
    FirstWords memory = as_of_kernel();
    memory.words.resize(size);
    EXPECT_FALSE(is_begin(memory)) << size;
  }
}

TEST(BeginOfStack, IsNothingSimilar) {
  struct Change {
    std::size_t place;
    std::uint64_t value;
  };
  const std::vector<Change> changes{{0, 0},           {0, 1},  {0, 3},  {1, first_stack - 8},
                                    {5, first_stack}, {8, 2},  {10, 2}, {12, 6},
                                    {12, 64},         {14, 2}, {17, 1}};
  for (const auto& [place, value] : changes) {
    FirstWords memory = as_of_kernel();
    memory.words[place] = value;
    EXPECT_FALSE(is_begin(memory)) << place << ' ' << value;
  }
}

TEST(BeginOfStack, IsLookedForInAFewPages) {
  FirstWords memory{std::vector<std::uint64_t>(100'000, texts + 0x1000000)};
  memory.words[0] = 90'000;
  EXPECT_FALSE(trace::walk::is_begin_of_stack(host_endian, first_stack, FirstWords::read, &memory));
  EXPECT_LE(memory.reads, 8192);
}

}  // namespace
}  // namespace sframe_gen::test
