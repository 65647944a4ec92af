#include "elf/object_addresses.hpp"

#include "elf/alignment.hpp"
#include "support/text.hpp"

namespace sframe_gen::elf {

namespace {

/// No section starts at 0, where linkers and assemblers put what has no place.
constexpr std::uint64_t first_address = 0x10000;
constexpr std::uint64_t gap = 16;  ///< bytes, and what addresses are multiples of

bool is_code(const Section& section) {
  return (section.header.sh_flags & SHF_EXECINSTR) != 0;
}
bool is_table(const Section& section) {
  return !is_code(section) && (section.name == ".eh_frame" || section.name == ".sframe");
}
bool is_data(const Section& section) {
  return !is_code(section) && !is_table(section) && section.header.sh_type != SHT_NOBITS;
}
bool is_empty(const Section& section) {
  return !is_code(section) && !is_table(section) && section.header.sh_type == SHT_NOBITS;
}

}  // namespace

void assign_addresses(std::vector<Section>& sections, const std::string& name) {
  std::uint64_t next = first_address;
  for (const auto belongs : {is_code, is_table, is_data, is_empty}) {
    for (Section& section : sections) {
      if ((section.header.sh_flags & SHF_ALLOC) == 0) section.header.sh_addr = 0;
      if ((section.header.sh_flags & SHF_ALLOC) == 0 || !belongs(section)) continue;
      if (next > largest_number || section.header.sh_size > largest_number - next) {
        throw MalformedInput({name, "section header table"}, section.index * sizeof(Elf64_Shdr),
                             "section of " + hex(section.header.sh_size) + " bytes does not fit in the address space");
      }
      section.header.sh_addr = next;
      next = align_up(next + section.header.sh_size + gap, gap);
    }
  }
}

}  // namespace sframe_gen::elf
