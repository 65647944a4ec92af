#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "elf/image.hpp"
#include "files/regions.hpp"

namespace sframe_gen::elf::object {

/// One record of .rela.sframe: what it is for, and symbol + addend.
struct NewRelocation {
  std::uint64_t offset = 0;  ///< of the field, in the new section
  std::uint32_t symbol = 0;
  std::int64_t addend = 0;
};

/// A loaded, read-only section and its relocations, all of one type and against one symbol table.
struct NewObjectSection {
  std::string name;
  std::uint32_t type = 0;       ///< sh_type
  std::uint64_t alignment = 1;  ///< bytes
  std::vector<std::byte> bytes;
  std::uint32_t symbol_table = 0;  ///< section index
  std::uint32_t relocation_type = 0;
  std::vector<NewRelocation> relocations;  ///< ascending by offset
};

/// The object with the section and its relocations in place of those of the same name, if it has such, else after all
/// its sections. No index and no symbol changes. The contents stand in the order they had, without what no header
/// describes, then the new ones, the names of the sections and their headers, so that a second time gives the same
/// bytes. The object must have passed check_preconditions. Throws MalformedInput and Refused.
files::Regions with_section(const elf::Image& object, const NewObjectSection& added);

}  // namespace sframe_gen::elf::object
