// What the program headers of a loaded file say of its section.

#include "unwind/file_in_memory.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>

namespace sframe_gen::unwind::test {
namespace {

constexpr std::uint32_t gnu_sframe = 0x6474e554;

ElfW(Phdr) segment(std::uint32_t type, std::uint64_t address, std::uint64_t size) {
  ElfW(Phdr) header{};
  header.p_type = type;
  header.p_flags = PF_R;
  header.p_offset = 0x1000;
  header.p_vaddr = address;
  header.p_filesz = size;
  header.p_memsz = size;
  return header;
}

TEST(Describe, TakesASectionOnlyIfItIsInReadableMemory) {
  static const std::array<std::byte, 64> loaded{};
  const auto begin = reinterpret_cast<std::uint64_t>(loaded.data());
  std::array headers{segment(PT_LOAD, begin, 64), segment(gnu_sframe, begin + 16, 48)};
  EXPECT_EQ(describe(headers, 0).sframe, &headers[1]);

  headers[1] = segment(gnu_sframe, begin + 16, 49);
  EXPECT_EQ(describe(headers, 0).sframe, nullptr) << "ends after the segment";
  headers[1] = segment(gnu_sframe, begin + 64, 8);
  EXPECT_EQ(describe(headers, 0).sframe, nullptr) << "begins after the segment";
  headers[1] = segment(gnu_sframe, begin + 16, 8);
  headers[1].p_memsz = 48;
  EXPECT_EQ(describe(headers, 0).sframe, nullptr) << "larger in memory than in the file";
  headers[1] = segment(gnu_sframe, begin + 16, 48);
  headers[0].p_flags = PF_W;
  EXPECT_EQ(describe(headers, 0).sframe, nullptr) << "not readable";
}

}  // namespace
}  // namespace sframe_gen::unwind::test
