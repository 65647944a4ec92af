#pragma once

#include <cstdint>
#include <vector>

#include "elf/image.hpp"
#include "object/relocation_tables.hpp"

namespace sframe_gen::object {

/// What a relocation says of a field that holds the place of code: symbol + addend, for whoever needs to name the same
/// place in a relocation of his own.
struct CodeReference {
  std::uint64_t field_offset = 0;  ///< in the section that is relocated
  std::uint64_t address = 0;       ///< of the code, as object_addresses.hpp gives them
  std::uint32_t symbol_table = 0;  ///< section index
  std::uint32_t symbol = 0;
  std::int64_t addend = 0;
};

/// A relocation of a type that is not known, which has not been applied.
struct UnknownRelocation {
  std::uint64_t field_offset = 0;
  std::uint32_t type = 0;
};

/// A section of an object as it would be if the object was linked to the addresses that its sections have.
struct RelocatedSection {
  std::vector<std::byte> bytes;
  std::vector<CodeReference> code;         ///< ascending by field_offset, no two alike
  std::vector<UnknownRelocation> unknown;  ///< ascending by field_offset
};

/// What a pc-relative relocation counts from. Section: for the 32-bit function starts of .sframe sections whose flag
/// says that they are relative to the section, though the relocation, of old, is relative to the field; ld corrects
/// that when it links.
enum class PcBase : std::uint8_t { Field, Section };

/// `section` of the tables' object, decompressed and relocated. Fields that do not end up at code stay without meaning:
/// undefined symbols count as 0. Throws MalformedInput, and Refused for relocations without addends.
RelocatedSection relocate(RelocationTables& tables, const elf::Section& section, PcBase base = PcBase::Field);
/// The same for one section alone.
RelocatedSection relocate(const elf::Image& object, const elf::Section& section, PcBase base = PcBase::Field);

}  // namespace sframe_gen::object
