#include "rewrite/plan/layout.hpp"

namespace sframe_gen::rewrite {

Range Layout::names_at_end() const {
  return sections.empty() ? Range() : elf::file_range(sections[header.e_shstrndx].header);
}

void remap_links(Layout& layout) {
  const auto remap = [&](std::uint32_t& index) {
    if (index < layout.new_index_of.size()) index = layout.new_index_of[index];
  };
  for (elf::Section& section : layout.sections) {
    Elf64_Shdr& header = section.header;
    if (header.sh_type == SHT_NULL) continue;
    remap(header.sh_link);
    const bool names_section =
        header.sh_type == SHT_REL || header.sh_type == SHT_RELA || (header.sh_flags & SHF_INFO_LINK) != 0;
    if (names_section) remap(header.sh_info);
  }
}

}  // namespace sframe_gen::rewrite
