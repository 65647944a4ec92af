#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "elf/alignment.hpp"
#include "elf/image.hpp"
#include "elf/new_section.hpp"
#include "elf/offset_map.hpp"

namespace sframe_gen::elf {

/// Where the new section goes.
enum class SectionPlan : std::uint8_t {
  Replace,  ///< over the one that is there
  Gap,      ///< behind a read-only PT_LOAD's last byte, in front of the next PT_LOAD: where ld would put it
  Tail,     ///< a PT_LOAD of its own above all others
};

/// Where the new program headers go. The table always grows in place.
enum class TablePlan : std::uint8_t {
  Free,           ///< PT_NULL entries, or zero bytes behind the table
  Notes,          ///< .interp and notes make room
  DynamicTables,  ///< .gnu.hash, .dynsym, … make room as well, and .dynamic says where they went
};

/// "replaced", "S1", "S2"; "T0", "T1", "T2": the short names used in reports.
const char* short_name(SectionPlan plan);
const char* short_name(TablePlan plan);

/// Bytes of the input that lie elsewhere in the output, apart from the offset map.
struct MovedBytes {
  FileRange from;
  std::uint64_t to = 0;
};

/// A pointer in .dynamic that follows the table it names.
struct DynamicPatch {
  std::uint64_t offset;  ///< of d_un, in the output
  std::uint64_t value;
};

/// Where the new section and its headers go: every decision of the rewrite, before a byte is written.
struct Layout {
  NewSection section = sframe_section;
  std::uint64_t section_address = 0;  ///< virtual address
  std::uint64_t section_size = 0;     ///< bytes
  std::uint64_t section_offset = 0;   ///< in the output

  Elf64_Ehdr header{};
  std::vector<Elf64_Phdr> segments;
  std::vector<Section> sections;            ///< in their new order
  std::vector<std::uint32_t> new_index_of;  ///< by the index in the input

  OffsetMap offset_map;
  std::uint64_t copied_size = 0;   ///< bytes of the input up to here are copied, unless dropped
  std::vector<FileRange> dropped;  ///< of the input: not copied, zero in the output; sorted
  std::vector<MovedBytes> moved;   ///< copied to another place; their old place is among the dropped
  std::vector<DynamicPatch> dynamic_patches;

  std::string section_names;  ///< of the new name table; empty: the old one stays
  std::uint64_t file_size = 0;

  // For the report.
  SectionPlan section_plan = SectionPlan::Gap;
  TablePlan table_plan = TablePlan::Free;
  std::int64_t growth = 0;  ///< bytes of the file, without the record for undoing
  bool build_id_left_first_page = false;
  std::vector<std::string> evicted;  ///< names of the sections that made room for program headers
};

/// Plans room for `section_size` bytes of `section`. Throws Refused with the reason when no plan keeps the file sound.
Layout plan_layout(const Image& image, std::uint64_t section_size, const NewSection& section = sframe_section);

}  // namespace sframe_gen::elf
