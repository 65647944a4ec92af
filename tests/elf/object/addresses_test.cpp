#include <gtest/gtest.h>

#include "elf/image.hpp"
#include "elf/object/toolbox.hpp"
#include "elf/records.hpp"

namespace sframe_gen::elf::object::test {
namespace {

Section section(std::uint32_t index, std::uint64_t flags, std::uint64_t size, std::uint32_t type = SHT_PROGBITS) {
  Section section{{}, "s" + std::to_string(index), index};
  section.header.sh_flags = flags;
  section.header.sh_size = size;
  section.header.sh_type = type;
  section.header.sh_addr = 0x1234;
  return section;
}

constexpr std::uint64_t code = SHF_ALLOC | SHF_EXECINSTR;

TEST(ObjectAddresses, NoTwoTouch) {
  std::vector<Section> sections{section(1, code, 0), section(2, code, 7), section(3, code, 16),
                                section(4, SHF_ALLOC, 32)};
  elf::assign_addresses(sections, "a.o");
  for (std::size_t i = 1; i < sections.size(); ++i)
    EXPECT_GT(sections[i].header.sh_addr, sections[i - 1].header.sh_addr + sections[i - 1].header.sh_size);
  EXPECT_GT(sections[0].header.sh_addr, 0U);
}

TEST(ObjectAddresses, WhatIsNotLoadedHasNone) {
  std::vector<Section> sections{section(1, 0, 100)};
  elf::assign_addresses(sections, "a.o");
  EXPECT_EQ(sections[0].header.sh_addr, 0U);
}

TEST(ObjectAddresses, HugeBssIsOutOfTheWay) {
  std::vector<Section> sections{section(1, SHF_ALLOC | SHF_WRITE, std::uint64_t{1} << 40, SHT_NOBITS),
                                section(2, code, 100), section(3, SHF_ALLOC, 100)};
  elf::assign_addresses(sections, "a.o");
  EXPECT_LT(sections[1].header.sh_addr, sections[2].header.sh_addr);
  EXPECT_LT(sections[2].header.sh_addr, 0x20000U);
  EXPECT_GT(sections[0].header.sh_addr, sections[2].header.sh_addr);
}

TEST(ObjectAddresses, HugeDataAreOutOfTheWay) {
  for (const char* const table : {".eh_frame", ".sframe"}) {
    std::vector<Section> sections{section(1, SHF_ALLOC | SHF_WRITE, std::uint64_t{1} << 40), section(2, code, 100),
                                  section(3, SHF_ALLOC, 100)};
    sections[2].name = table;
    elf::assign_addresses(sections, "a.o");
    EXPECT_LT(sections[1].header.sh_addr, sections[2].header.sh_addr) << table;
    EXPECT_LT(sections[2].header.sh_addr, 0x20000U) << table;
    EXPECT_GT(sections[0].header.sh_addr, sections[2].header.sh_addr) << table;
  }
}

TEST(ObjectAddresses, DebugFileAgrees) {
  std::vector<Section> sections{section(1, code, 100), section(2, SHF_ALLOC, 50), section(3, code, 10)};
  std::vector<Section> debug{section(1, code, 100, SHT_NOBITS), section(2, SHF_ALLOC, 50, SHT_NOBITS),
                             section(3, code, 10, SHT_NOBITS)};
  elf::assign_addresses(sections, "a.o");
  elf::assign_addresses(debug, "a.o.debug");
  EXPECT_EQ(sections[0].header.sh_addr, debug[0].header.sh_addr);
  EXPECT_EQ(sections[2].header.sh_addr, debug[2].header.sh_addr);
}

TEST(ObjectAddresses, SizesBeyondTheAddressSpaceAreMalformed) {
  std::vector<Section> sections{section(1, code, 100), section(2, SHF_ALLOC, UINT64_MAX - 100)};
  EXPECT_EQ(failure_of([&] { elf::assign_addresses(sections, "a.o"); }),
            "a.o: section header table+0x80: section of 18446744073709551515 bytes does not fit in the address space");
  const std::uint64_t all = elf::largest_number - 0x10000;
  std::vector<Section> full{section(1, code, all), section(2, SHF_ALLOC, 100)};
  EXPECT_NE(failure_of([&] { elf::assign_addresses(full, "a.o"); }), "");
}

}  // namespace
}  // namespace sframe_gen::elf::object::test
