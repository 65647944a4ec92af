#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "elf/image.hpp"

namespace sframe_gen::elf::object {

/// A symbol of an object, as far as relocations need it.
struct Symbol {
  std::optional<std::uint32_t> section;  ///< index; none: undefined, absolute or common
  std::uint64_t value = 0;               ///< bytes from the start of the section
  unsigned type = 0;                     ///< STT_*
  unsigned binding = 0;                  ///< STB_*
  std::uint32_t name = 0;                ///< in the string table
};

/// The symbol table at one section index, with its SHT_SYMTAB_SHNDX where there is one (gABI, chapter 4).
class SymbolTable {
 public:
  /// Throws MalformedInput where `index` names no symbol table, and Refused if it is not the first: an object has one
  /// (gABI, chapter 4), and each would take a look at all sections. `image` must outlive it.
  SymbolTable(const elf::Image& image, std::uint32_t index);

  std::uint32_t index() const { return index_; }
  std::size_t size() const;
  /// Throws MalformedInput where there is no such symbol, or none such section.
  Symbol at(std::uint64_t number) const;
  /// Where the symbol points, by the addresses that the image's sections have; none: undefined, absolute or common.
  std::optional<std::uint64_t> address_of(const Symbol& symbol) const;
  /// Returns the first `most` bytes of the name, in the table: any number of symbols may share a long one. Empty for
  /// symbols that stand for their section. Throws MalformedInput if the name is not in its table.
  std::string_view name_of(const Symbol& symbol, std::size_t most) const;

 private:
  const elf::Image& image_;
  std::uint32_t index_;
  std::span<const std::byte> symbols_;
  std::span<const std::byte> wide_indices_;  ///< of SHT_SYMTAB_SHNDX
};

}  // namespace sframe_gen::elf::object
