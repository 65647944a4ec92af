#include "elf/records.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace sframe_gen::elf {
namespace {

TEST(Records, TheHostsByteOrderIsItsOwnLayout) {
  const Elf64_Phdr segment{PT_LOAD, PF_R | PF_X, 0x1000, 0x401000, 0x402000, 0x234, 0x567, 0x1000};
  std::vector<std::byte> bytes(sizeof segment);
  store_segment(bytes, segment, host_endian);
  EXPECT_EQ(std::memcmp(bytes.data(), &segment, sizeof segment), 0);
}

TEST(Records, BothByteOrdersSurviveARoundTrip) {
  for (const Endian endian : {Endian::Little, Endian::Big}) {
    const Elf64_Shdr section{1, SHT_RELA, SHF_ALLOC | SHF_INFO_LINK, 0x400000, 0x1000, 0x18, 5, 9, 8, 24};
    std::vector<std::byte> bytes(sizeof section);
    store_section(bytes, section, endian);
    const Elf64_Shdr again = load_section(bytes, endian);
    EXPECT_EQ(std::memcmp(&section, &again, sizeof section), 0);

    Elf64_Ehdr header{};
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_machine = EM_X86_64;
    header.e_entry = 0x123456789abcdef0;
    header.e_shstrndx = 0x1234;
    bytes.assign(sizeof header, {});
    store_header(bytes, header, endian);
    const Elf64_Ehdr header_again = load_header(bytes, endian);
    EXPECT_EQ(std::memcmp(&header, &header_again, sizeof header), 0);
  }
}

TEST(Records, BigEndianPutsTheHighByteFirst) {
  Elf64_Phdr segment{};
  segment.p_type = 0x6474e554;
  std::vector<std::byte> bytes(sizeof segment);
  store_segment(bytes, segment, Endian::Big);
  EXPECT_EQ(bytes[0], std::byte{0x64});
  EXPECT_EQ(bytes[3], std::byte{0x54});
}

}  // namespace
}  // namespace sframe_gen::elf
