#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "elf/image.hpp"
#include "elf/new_section.hpp"
#include "elf/records.hpp"
#include "rewrite/plan/file_space.hpp"
#include "sframe_gen/layout_plans.hpp"

namespace sframe_gen::rewrite {

/// Bytes of the input that lie elsewhere in the output, apart from the offset map.
struct MovedBytes {
  Range from;
  std::uint64_t to = 0;
};

/// A number that says where something is, and changes when one of the two moves: a pointer in .dynamic to a table, or
/// a distance in a note, of 8 bytes; or the distance of a NoteFunction, of 4.
struct ChangedNumber {
  std::uint64_t offset = 0;  ///< in the output
  std::uint64_t value = 0;
  std::size_t size = sizeof(std::uint64_t);
};

/// The ELF header that the input has in memory, where another stands in front of it (below.hpp). Programs linked with
/// glibc 2.36 as first released find their program headers by it, so it leads to the new ones.
struct OldHeader {
  std::uint64_t offset = 0;  ///< in the output
  Elf64_Ehdr header{};
};

/// Every decision of the rewrite, before a byte is written: where the new section and its headers go.
struct Layout {
  elf::NewSection section = elf::sframe_section;
  std::uint64_t section_address = 0;  ///< virtual address
  std::uint64_t section_size = 0;     ///< bytes
  std::uint64_t section_offset = 0;   ///< in the output

  Elf64_Ehdr header{};
  std::vector<Elf64_Phdr> segments;
  std::vector<elf::Section> sections;       ///< in their new order; none if the input has no section headers
  std::vector<std::uint32_t> new_index_of;  ///< by the index in the input, SHN_ABS if it is gone; none either

  OffsetMap offset_map;
  std::uint64_t copied_size = 0;  ///< bytes of the input up to here are copied, unless dropped
  std::vector<Range> dropped;     ///< of the input: not copied, zero in the output; sorted
  std::vector<MovedBytes> moved;  ///< copied to another place; their old place is among the dropped
  std::vector<ChangedNumber> changed_numbers;
  std::optional<OldHeader> old_header;

  std::string section_names;  ///< of the new name table
  std::uint64_t file_size = 0;

  /// Section names and section headers are the end of the output but for the record that gives the input back. Empty
  /// if the input has no section headers.
  Range names_at_end() const;
  Range headers_at_end() const { return {header.e_shoff, header.e_shoff + sections.size() * sizeof(Elf64_Shdr)}; }

  // For the report.
  SectionPlan section_plan = SectionPlan::Gap;
  TablePlan table_plan = TablePlan::Free;
  std::int64_t growth = 0;  ///< bytes of the file, without the record for undoing
  bool build_id_left_first_page = false;
  std::vector<std::string> moved_sections;  ///< names of the sections that made room for program headers
};

/// Lets links between the sections of `layout` follow `new_index_of`.
void remap_links(Layout& layout);

}  // namespace sframe_gen::rewrite
