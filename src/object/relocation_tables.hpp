#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "elf/image.hpp"
#include "object/symbol_table.hpp"

namespace sframe_gen::object {

/// The sections of an object that hold relocations, by the section they are for, and the symbol tables they name. Asked
/// again and again where an object has a section of call frame information for each function.
class RelocationTables {
 public:
  /// `object` must outlive it.
  explicit RelocationTables(const elf::Image& object);

  const elf::Image& object() const { return object_; }
  /// Indices of the sections of type SHT_REL, SHT_RELA or SHT_CREL for section `index`, ascending.
  std::span<const std::uint32_t> for_section(std::uint32_t index) const;
  /// Throws MalformedInput where section `index` is no symbol table.
  const SymbolTable& symbols(std::uint32_t index);

 private:
  const elf::Image& object_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> tables_;
  std::map<std::uint32_t, SymbolTable> symbols_;
};

/// Relocations packed with LEB128 (relocation_records.cpp), from LLVM 20 on; not in any <elf.h>.
inline constexpr std::uint32_t section_type_crel = 0x40000014;

}  // namespace sframe_gen::object
