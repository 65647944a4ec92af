#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sframe_gen/visibility.h"

SFRAME_GEN_BEGIN_CXX

/// Where a section and its program headers go in a linked file.
namespace sframe_gen {

/// Where the new section goes.
enum class SectionPlan : std::uint8_t {
  Replace,   ///< over the one that is there
  Gap,       ///< after a read-only PT_LOAD's last byte, before the next PT_LOAD: where ld would put it
  Head,      ///< after the program headers of TablePlan::Below
  Tail,      ///< in a PT_LOAD of its own above all others
  Reserved,  ///< where the linker script of a Linux kernel reserved room
};

/// Where the new program headers go. The table grows at the file offset where it is, but for `Moved`.
enum class TablePlan : std::uint8_t {
  Free,           ///< PT_NULL entries, or zero bytes after the table
  Notes,          ///< .interp and notes make room
  DynamicTables,  ///< .gnu.hash, .dynsym, … make room as well, and .dynamic says where they went
  Below,          ///< new pages below those of a program at fixed addresses: all that is there stays in memory
  Moved,          ///< after the section, in the PT_LOAD of SectionPlan::Tail: strip and its like break such a file
};

/// A plan that was considered for the rewrite of a linked file.
struct TriedPlan {
  SectionPlan section_plan = SectionPlan::Gap;
  TablePlan table_plan = TablePlan::Free;  ///< means nothing with SectionPlan::Reserved
  std::uint64_t gap_after = 0;             ///< of SectionPlan::Gap: the virtual address of the PT_LOAD before the gap
  bool drops_note = false;                 ///< a PT_NOTE that repeats PT_GNU_PROPERTY gives its program header away
  bool possible = false;
  bool taken = false;
  // What it does to the file, if it is possible.
  std::vector<std::string> moved;         ///< names of the sections that make room for program headers
  bool moved_to_new_segment = false;      ///< in a program at fixed addresses, the new PT_LOAD holds some of these
  bool build_id_left_first_page = false;  ///< where older kernels look for it
  std::uint64_t inserted = 0;             ///< bytes
  bool mostly_unused = false;             ///< most of the inserted bytes have no use
  // What is in the way, if it is not possible.
  bool lacks_room_for_headers = false;  ///< program headers find no room; else the section does not
  std::string obstacle;                 ///< a clause: "section .interp is in the way"
};

}  // namespace sframe_gen

SFRAME_GEN_END_CXX
