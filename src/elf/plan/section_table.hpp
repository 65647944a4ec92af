#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "elf/image.hpp"
#include "elf/plan/layout.hpp"

namespace sframe_gen::elf {

/// The section headers of the output. Sections keep their order; what moved and the new section stand where their
/// address puts them, since GNU strip and objcopy lay a file out in table order, and behind no unallocated section,
/// which dwz refuses.
class SectionTable {
 public:
  SectionTable(const Image& image, const OffsetMap& load_map, const OffsetMap& map);

  void move(std::uint32_t index, std::uint64_t offset, std::uint64_t address);
  /// `old_index`: the section that it replaces, whose symbols it inherits.
  void set_section(const NewSection& section, std::optional<std::uint32_t> old_index, std::uint64_t offset,
                   std::uint64_t address, std::uint64_t size);
  /// The record for undoing all this becomes the last section; its size comes later. To be called after `set_section`.
  void set_undo(const NewSection& section, std::optional<std::uint32_t> old_index);

  /// Gives the ELF header and program headers that stay in memory a section of their own.
  void cover_old_headers(const OldHeaders& headers);

  /// Fills in sections, new_index_of, section_names and the header's counts.
  void build(Layout& layout) const;

 private:
  std::uint64_t new_offset(const Section& section) const;
  void remap_links(Layout& layout) const;
  void name_sections(Layout& layout) const;

  const Image* image_;
  const OffsetMap* load_map_;
  const OffsetMap* map_;
  std::vector<Section> sections_;  ///< new ones have the indices behind the last
  std::vector<std::uint32_t> moved_;
  std::uint32_t added_ = 0;
  std::optional<std::uint32_t> undo_;
};

}  // namespace sframe_gen::elf
