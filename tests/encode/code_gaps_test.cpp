// What one descriptor may reach over in a file: padding inside of code, and between sections that linkers put side by
// side.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

#include "encode/padding.hpp"
#include "sframe_gen/error.hpp"

namespace sframe_gen::test {
namespace {

struct TestSection {
  std::uint64_t address;
  std::uint64_t size;
  std::uint64_t flags = SHF_ALLOC | SHF_EXECINSTR;
  std::uint64_t file_offset = address;
};

/// 0x300 bytes of an executable segment at 0, all of them `filler` but where a section of code is, which holds `ret`.
class Program {
 public:
  explicit Program(std::vector<TestSection> sections, std::uint16_t type = ET_DYN, std::byte filler = {})
      : bytes_(end, filler) {
    sections.insert(sections.begin(), {0, 0, 0});  // the table's first, and the one that names come from
    for (const TestSection& section : sections)
      if ((section.flags & SHF_EXECINSTR) != 0) std::memset(&bytes_[section.file_offset], 0xc3, section.size);
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, "\177ELF\2\1\1", 7);
    header.e_type = type;
    header.e_machine = EM_X86_64;
    header.e_version = EV_CURRENT;
    header.e_ehsize = sizeof(Elf64_Ehdr);
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_phoff = sizeof(Elf64_Ehdr);
    header.e_phnum = type == ET_REL ? 0 : 1;
    header.e_shoff = end;
    header.e_shnum = static_cast<std::uint16_t>(sections.size());
    std::memcpy(bytes_.data(), &header, sizeof header);
    const Elf64_Phdr segment{PT_LOAD, PF_R | PF_X, 0, 0, 0, end, end, 0x1000};
    std::memcpy(&bytes_[sizeof header], &segment, sizeof segment);
    for (const TestSection& section : sections) {
      const std::uint32_t kind = section.size == 0 ? SHT_NULL : SHT_PROGBITS;
      const Elf64_Shdr entry{0, kind, section.flags, section.address, section.file_offset, section.size, 0, 0, 1, 0};
      const auto* const first = reinterpret_cast<const std::byte*>(&entry);
      bytes_.insert(bytes_.end(), first, first + sizeof entry);
    }
  }

  bool is_filled(std::uint64_t from, std::uint64_t to) const {
    const encode::CodeGaps gaps(elf::Image::of_bytes(bytes_, "program"), sframe::Abi::Amd64);
    encode::CodeWindow window = gaps.window();
    return gaps.is_padding(from, to, window);
  }

  bool ends_in_call(std::uint64_t at) const {
    return encode::CodeGaps(elf::Image::of_bytes(bytes_, "program"), sframe::Abi::Amd64).ends_in_call(at);
  }
  void put(std::uint64_t at, std::byte byte) { bytes_[at] = byte; }

  /// Gives the segment, and its section of that index, more bytes than the file has.
  void reach_beyond_the_file(std::size_t section) {
    constexpr std::uint64_t size = 1U << 20U, half = size / 2;
    std::memcpy(&bytes_[sizeof(Elf64_Ehdr) + offsetof(Elf64_Phdr, p_filesz)], &size, sizeof size);
    std::memcpy(&bytes_[sizeof(Elf64_Ehdr) + offsetof(Elf64_Phdr, p_memsz)], &size, sizeof size);
    std::memcpy(&bytes_[end + section * sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_size)], &half, sizeof half);
  }

 private:
  static constexpr std::uint64_t end = 0x300;
  std::vector<std::byte> bytes_;
};

TEST(CodeGaps, SectionsSideBySideAreOnePieceOfCode) {
  const Program program({{0x100, 0x20}, {0x120, 0x20}, {0x150, 0x20}});
  EXPECT_TRUE(program.is_filled(0x120, 0x120));
  EXPECT_TRUE(program.is_filled(0x140, 0x150));
  EXPECT_FALSE(program.is_filled(0x13f, 0x150)) << "a byte of code";
  EXPECT_FALSE(program.is_filled(0x170, 0x180)) << "nothing behind it";
}

TEST(CodeGaps, SectionsHaveTheirBytesInTheFile) {
  Program program({{0x100, 0x20}, {0x150, 0x20}});
  program.reach_beyond_the_file(2);
  EXPECT_THROW(program.is_filled(0x200, 0x10000), MalformedInput);
}

TEST(CodeGaps, OrderOfHeadersMeansNothing) {
  EXPECT_TRUE(Program({{0x150, 0x20}, {0x100, 0x40}}).is_filled(0x140, 0x150));
}

TEST(CodeGaps, WhatIsBetweenSectionsMustBePadding) {
  const std::vector<TestSection> sections{{0x100, 0x40}, {0x150, 0x20}};
  EXPECT_TRUE(Program(sections, ET_DYN, std::byte{0xcc}).is_filled(0x140, 0x150));
  EXPECT_FALSE(Program(sections, ET_DYN, std::byte{0x55}).is_filled(0x140, 0x150));
}

TEST(CodeGaps, DataBetweenIsNoPadding) {
  for (const std::uint64_t flags : {std::uint64_t{SHF_ALLOC}, std::uint64_t{SHF_ALLOC | SHF_WRITE}})
    EXPECT_FALSE(Program({{0x100, 0x40}, {0x144, 4, flags}, {0x150, 0x20}}).is_filled(0x140, 0x150));
}

TEST(CodeGaps, NotLoadedMeansNothing) {
  EXPECT_TRUE(Program({{0x100, 0x40}, {0, 0x80, 0, 0x200}, {0x150, 0x20}}).is_filled(0x140, 0x150));
}

TEST(CodeGaps, SectionsElsewhereInTheFileStayApart) {
  const Program program({{0x100, 0x40}, {0x150, 0x20, SHF_ALLOC | SHF_EXECINSTR, 0x180}});
  EXPECT_FALSE(program.is_filled(0x140, 0x150));
}

/// Their bytes in the file are not those that a program has in memory.
TEST(CodeGaps, SectionsThatNoSegmentLoadsAreNoCode) {
  const std::vector<TestSection> moved{{0x100, 0x40, SHF_ALLOC | SHF_EXECINSTR, 0x110},
                                       {0x150, 0x20, SHF_ALLOC | SHF_EXECINSTR, 0x160}};
  EXPECT_FALSE(Program(moved).is_filled(0x140, 0x150));
}

TEST(CodeGaps, SectionsOfObjectsStayApart) {
  EXPECT_FALSE(Program({{0x100, 0x40}, {0x140, 0x20}}, ET_REL).is_filled(0x140, 0x140));
}

TEST(CodeGaps, KnowsCalls) {
  Program program({{0x100, 0x100}});
  const auto ends_in_call = [&](std::initializer_list<int> code) {
    std::uint64_t at = 0x180;
    for (const int byte : code) program.put(at++, static_cast<std::byte>(byte));
    return program.ends_in_call(at);
  };
  EXPECT_TRUE(ends_in_call({0xe8, 0x10, 0, 0, 0}));
  EXPECT_FALSE(ends_in_call({0xe8, 0, 0x10, 0, 0})) << "where no code is";
  EXPECT_TRUE(ends_in_call({0xff, 0x15, 0, 0x10, 0, 0}));
  EXPECT_TRUE(ends_in_call({0x90, 0x90, 0x90, 0xff, 0xd0}));
  EXPECT_FALSE(ends_in_call({0x90, 0x90, 0x90, 0xff, 0xe0})) << "a jump";
  EXPECT_FALSE(program.ends_in_call(0x102)) << "before the code";
  EXPECT_FALSE(program.ends_in_call(0x300)) << "after it";
}

}  // namespace
}  // namespace sframe_gen::test
