#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "elf/image.hpp"
#include "elf/records.hpp"

namespace sframe_gen::elf {

/// One entry of the table that PT_DYNAMIC covers (gABI, chapter 5, "Dynamic Section").
struct DynamicEntry {
  std::int64_t tag;
  std::uint64_t value;
  std::uint64_t value_offset;  ///< of d_un in the file
};

/// The entries in front of DT_NULL; none in a file without PT_DYNAMIC. Throws MalformedInput.
std::vector<DynamicEntry> read_dynamic(const Image& image);

std::optional<std::uint64_t> find_dynamic(const std::vector<DynamicEntry>& entries, std::int64_t tag);

/// A tag whose value is the address of a table, and what linkers call that table's section.
struct DynamicTable {
  std::int64_t tag;
  std::uint32_t section_type;
  const char* section_name;
};

/// The tables that .dynamic names (gABI, figure 5-10, and GNU's). check/section_check.cpp has its own list.
inline constexpr std::array dynamic_tables{
    DynamicTable{DT_GNU_HASH, SHT_GNU_HASH, ".gnu.hash"},
    DynamicTable{DT_HASH, SHT_HASH, ".hash"},
    DynamicTable{DT_SYMTAB, SHT_DYNSYM, ".dynsym"},
    DynamicTable{DT_STRTAB, SHT_STRTAB, ".dynstr"},
    DynamicTable{DT_VERSYM, SHT_GNU_versym, ".gnu.version"},
    DynamicTable{DT_VERDEF, SHT_GNU_verdef, ".gnu.version_d"},
    DynamicTable{DT_VERNEED, SHT_GNU_verneed, ".gnu.version_r"},
    DynamicTable{DT_RELA, SHT_RELA, ".rela.dyn"},
    DynamicTable{DT_JMPREL, SHT_RELA, ".rela.plt"},
    DynamicTable{dynamic_tag_relr, section_type_relr, ".relr.dyn"},
};

/// The tags whose value is the address of a section of this type; empty for types that .dynamic does not name.
std::vector<std::int64_t> tags_of_type(std::uint32_t section_type);

/// Whether the kernel starts it: at fixed addresses, by a dynamic linker that it names, or marked as a program that is
/// independent of its position.
bool is_program(const Image& image);

/// The text at an offset of the string table that DT_STRTAB names; empty where that has none.
std::string dynamic_string(const Image& image, const std::vector<DynamicEntry>& entries, std::uint64_t offset);

/// DT_SONAME's text; empty where there is none or it lies outside the string table.
std::string soname_of(const Image& image, const std::vector<DynamicEntry>& entries);

}  // namespace sframe_gen::elf
