#include "elf/check/section_address_check.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "elf/alignment.hpp"
#include "elf/type_names.hpp"
#include "sframe_gen/error.hpp"

namespace sframe_gen::elf {

namespace {

/// What has come to its addresses.
struct Newcomer {
  FileRange range;  ///< of addresses
  std::string name;
  std::optional<std::uint32_t> section;  ///< index in the output; none for the program headers
};

bool occupies_memory(const Elf64_Shdr& header) {
  // .tbss only says how much each thread gets elsewhere.
  const bool is_tbss = header.sh_type == SHT_NOBITS && (header.sh_flags & SHF_TLS) != 0;
  return (header.sh_flags & SHF_ALLOC) != 0 && header.sh_size != 0 && !is_tbss;
}

FileRange addresses_of(const Elf64_Shdr& header) {
  return {header.sh_addr, header.sh_addr + header.sh_size};
}

std::optional<FileRange> table_addresses(const Image& image) {
  const std::uint64_t at = image.header().e_phoff;
  for (const Elf64_Phdr& load : image.segments()) {
    if (load.p_type != PT_LOAD || at < load.p_offset || at >= load.p_offset + load.p_filesz) continue;
    const std::uint64_t address = load.p_vaddr + (at - load.p_offset);
    return FileRange{address, address + image.segments().size() * sizeof(Elf64_Phdr)};
  }
  return {};
}

/// Of a table that has grown in its place, what was added.
void add_table(const Image& input, const Image& output, std::vector<Newcomer>& newcomers) {
  auto now = table_addresses(output);
  if (!now) return;
  const auto old = table_addresses(input);
  if (old && old->begin == now->begin) now->begin = std::min(old->end, now->end);
  if (!now->empty()) newcomers.push_back({*now, "the program headers", {}});
}

std::vector<Newcomer> find_newcomers(const Image& input, const Image& output, const SectionPairs& pairs,
                                     const NewSection& added) {
  std::vector<Newcomer> newcomers;
  add_table(input, output, newcomers);
  for (const Section& old : input.sections()) {
    if (old.name == added.name || old.name == added.undo_name) continue;
    const Section& now = output.sections()[pairs[old.index]];
    if (occupies_memory(now.header) && now.header.sh_addr != old.header.sh_addr)
      newcomers.push_back({addresses_of(now.header), describe(now), now.index});
  }
  if (const Section* const section = output.find_section(added.name))
    newcomers.push_back({addresses_of(section->header), describe(*section), section->index});
  return newcomers;
}

}  // namespace

void check_section_addresses(const Image& input, const Image& output, const SectionPairs& pairs,
                             const NewSection& added) {
  for (const Newcomer& newcomer : find_newcomers(input, output, pairs, added)) {
    for (const Section& other : output.sections()) {
      if (!occupies_memory(other.header) || other.index == newcomer.section) continue;
      if (newcomer.range.overlaps(addresses_of(other.header)))
        throw LayoutViolation(input.name(), newcomer.name + " and " + describe(other) + " must not share addresses");
    }
  }
}

}  // namespace sframe_gen::elf
