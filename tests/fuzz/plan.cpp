// Headers of made-up programs, which contradict each other nowhere: room is found, or refused with a reason. The
// checker is the oracle.

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "converted.hpp"
#include "target.hpp"

namespace sframe_gen::fuzz {

namespace {

/// PT_LOADs one after the other, of any sizes and distances, each with a section, and notes in the first.
std::vector<std::byte> program(Choices& choices) {
  const std::uint64_t page = choices.byte() % 4 == 0 ? 0x10000 : 0x1000, base = choices.byte() % 2 * 0x400000U;
  const std::size_t loads = 1 + choices.below(4), spare = choices.below(3), notes = choices.below(4);
  std::vector<Elf64_Phdr> segments(spare, Elf64_Phdr{});  // PT_NULL
  std::vector<Elf64_Shdr> sections(1);
  std::uint64_t offset = sizeof(Elf64_Ehdr) + (spare + loads + notes) * sizeof(Elf64_Phdr), address = base;
  offset += choices.below(3) * sizeof(Elf64_Phdr);
  const std::uint64_t first_end = offset;
  for (std::size_t i = 0; i < loads; ++i) {
    const std::uint64_t begin = i == 0 ? 0 : offset,
                        size = (i == 0 ? first_end + notes * 32 : 0) + 1 + choices.below(0x1800);
    address = i == 0 ? base : (address + page - 1) / page * page + choices.byte() % 2 * page + begin % page;
    const std::uint32_t flags = i == 1 ? PF_R | PF_X : i == 3 ? PF_R | PF_W : PF_R;
    segments.push_back(
        {PT_LOAD, flags, begin, address, address, size, size + (i == 3 ? choices.below(4096) : 0), page});
    const std::uint64_t used = i == 0 ? first_end + notes * 32 : 0;
    sections.push_back({0, SHT_PROGBITS, SHF_ALLOC | (i == 1 ? SHF_EXECINSTR : 0U) | (i == 3 ? SHF_WRITE : 0U),
                        address + used, begin + used, size - used, 0, 0, 1, 0});
    address += segments.back().p_memsz;
    offset = begin + size + choices.below(64);
  }
  for (std::size_t i = 0; i < notes; ++i) {
    const std::uint64_t place = first_end + i * 32;
    segments.push_back({PT_NOTE, PF_R, place, base + place, base + place, 24, 24, 4});
    sections.insert(sections.begin() + 1, {0, SHT_NOTE, SHF_ALLOC, base + place, place, 24, 0, 0, 4, 0});
  }
  const std::uint64_t names = offset, table = (names + 1 + 7) / 8 * 8;
  sections.push_back({0, SHT_STRTAB, 0, 0, names, 1, 0, 0, 1, 0});
  std::vector<std::byte> file(table + sections.size() * sizeof(Elf64_Shdr));
  Elf64_Ehdr header{{0x7f, 'E', 'L', 'F', 2, 1, 1},
                    static_cast<Elf64_Half>(base == 0 ? ET_DYN : ET_EXEC),
                    EM_X86_64,
                    1,
                    base,
                    sizeof(Elf64_Ehdr),
                    table,
                    0,
                    sizeof(Elf64_Ehdr),
                    sizeof(Elf64_Phdr),
                    static_cast<Elf64_Half>(segments.size()),
                    sizeof(Elf64_Shdr),
                    static_cast<Elf64_Half>(sections.size()),
                    static_cast<Elf64_Half>(sections.size() - 1)};
  std::memcpy(file.data(), &header, sizeof header);
  std::memcpy(&file[sizeof header], segments.data(), segments.size() * sizeof(Elf64_Phdr));
  std::memcpy(&file[table], sections.data(), sections.size() * sizeof(Elf64_Shdr));
  const std::uint32_t note[] = {4, 8, 3, 0x554e47};  // of GNU's, a build-id
  for (std::size_t i = 0; i < notes; ++i) std::memcpy(&file[first_end + i * 32], note, sizeof note);
  return file;
}

}  // namespace

void plan(Bytes input) {
  Choices choices(input);
  const std::vector<std::byte> file = program(choices);
  const std::uint64_t size = 32 + choices.below(0x4000);
  try {
    with_empty_section(elf::Image::of_bytes(file, "fuzz"), size);
  } catch (const LayoutViolation& broken) {
    require(false, broken.what());
  } catch (const Failure&) {  // no room, or a damaged file
  }
}

}  // namespace sframe_gen::fuzz
