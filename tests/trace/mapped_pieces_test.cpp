#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "support/text.hpp"
#include "trace/walk/address_space.hpp"

namespace sframe_gen::test {
namespace {

Elf64_Phdr load(std::uint32_t rights, std::uint64_t offset, std::uint64_t size, std::uint64_t address) {
  Elf64_Phdr segment{};
  segment.p_type = PT_LOAD;
  segment.p_flags = rights;
  segment.p_offset = offset;
  segment.p_filesz = segment.p_memsz = size;
  segment.p_vaddr = segment.p_paddr = address;
  segment.p_align = 4096;
  return segment;
}

elf::Image image_of(const std::vector<Elf64_Phdr>& segments, std::vector<std::byte>& bytes) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof header;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = static_cast<std::uint16_t>(segments.size());
  bytes.resize(0x8000);
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, segments.data(), segments.size() * sizeof(Elf64_Phdr));
  return elf::Image::of_bytes(bytes, "file");
}

/// "0x5000..0x7000-0x4000": where, and how far above the file's addresses.
std::string pieces(std::uint64_t begin, std::uint64_t end, std::uint64_t offset,
                   const std::vector<Elf64_Phdr>& segments) {
  trace::walk::Mapping mapping;
  mapping.begin = begin;
  mapping.end = end;
  mapping.file_offset = offset;
  std::vector<std::byte> bytes;
  std::string text;
  for (const auto& piece : trace::walk::pieces_of(mapping, image_of(segments, bytes))) {
    text += (text.empty() ? "" : " ") + hex(piece.begin) + ".." + hex(piece.end) + "-" + hex(piece.bias);
  }
  return text;
}

constexpr std::uint32_t code_flags = PF_R | PF_X;

TEST(MappedPieces, OfOneSegment) {
  const std::vector<Elf64_Phdr> usual{load(PF_R, 0, 0xff0, 0), load(code_flags, 0xff0, 0x1800, 0x1ff0),
                                      load(PF_R | PF_W, 0x27f0, 0x100, 0x47f0)};
  EXPECT_EQ(pieces(0x71000, 0x74000, 0, usual), "0x71000..0x74000-0x70000");
  EXPECT_EQ(pieces(0x72000, 0x73000, 0x1000, usual), "0x72000..0x73000-0x70000");  // what mprotect() has left
}

/// As a linker script makes them that begins a second segment in the page of the file where the first one ends.
TEST(MappedPieces, OfTwoSegmentsThatShareAPageOfTheFile) {
  const std::vector<Elf64_Phdr> two{load(code_flags, 0, 0x1680, 0), load(code_flags, 0x1680, 0x2000, 0x3680)};
  EXPECT_EQ(pieces(0x70000, 0x72000, 0, two), "0x70000..0x71680-0x70000 0x71680..0x72000-0x6e000");
  EXPECT_EQ(pieces(0x73000, 0x76000, 0x1000, two), "0x73000..0x73680-0x72000 0x73680..0x76000-0x70000");
}

TEST(MappedPieces, OfSegmentsThatFollowEachOther) {
  EXPECT_EQ(pieces(0x70000, 0x73000, 0, {load(code_flags, 0, 0x1680, 0), load(PF_X, 0x1680, 0x1000, 0x1680)}),
            "0x70000..0x73000-0x70000");
}

TEST(MappedPieces, OfWhatNoSegmentHolds) {
  EXPECT_EQ(pieces(0x70000, 0x71000, 0x4000, {load(code_flags, 0, 0x1680, 0)}), "");
  EXPECT_EQ(pieces(0x70000, 0x71000, 0, {load(PF_R, 0, 0x1680, 0x5000)}), "0x70000..0x71000-0x6b000");
}

TEST(MappedPieces, OfMoreSegmentsThanAnyFileHas) {
  std::vector<Elf64_Phdr> many;
  for (std::uint64_t i = 0; i < 17; ++i) many.push_back(load(code_flags, 0x1000 + 16 * i, 16, 0x1000 + 0x2010 * i));
  EXPECT_EQ(pieces(0x70000, 0x71000, 0x1000, many), "");
}

/// Both claim the same bytes: the first one has them.
TEST(MappedPieces, OfSegmentsThatOverlap) {
  EXPECT_EQ(pieces(0x70000, 0x71000, 0x1000,
                   {load(code_flags, 0x1000, 0x1000, 0x1000), load(code_flags, 0x1000, 0x800, 0x9000)}),
            "0x70000..0x71000-0x6f000");
}

}  // namespace
}  // namespace sframe_gen::test
