#include "elf/object/symbol_table.hpp"

#include <algorithm>
#include <string>

#include "elf/records.hpp"
#include "support/text.hpp"

namespace sframe_gen::elf::object {

SymbolTable::SymbolTable(const elf::Image& image, std::uint32_t index) : image_(image), index_(index) {
  const auto& sections = image.sections();
  if (index >= sections.size() || sections[index].header.sh_type != SHT_SYMTAB) {
    throw MalformedInput({image.name(), "section header table"}, 0,
                         "relocations name section " + std::to_string(index) + " as symbol table, which is none");
  }
  const auto first = std::ranges::find(sections, std::uint32_t{SHT_SYMTAB},
                                       [](const elf::Section& section) { return section.header.sh_type; });
  if (first->index != index) throw Refused(image.name(), "more than one symbol table");
  symbols_ = image.bytes_of(sections[index]);
  for (const elf::Section& section : sections) {
    if (section.header.sh_type == SHT_SYMTAB_SHNDX && section.header.sh_link == index)
      wide_indices_ = image.bytes_of(section);
  }
}

std::size_t SymbolTable::size() const {
  return symbols_.size() / sizeof(Elf64_Sym);
}

Symbol SymbolTable::at(std::uint64_t number) const {
  const InputOrigin origin{image_.name(), image_.sections()[index_].name};
  if (number >= size()) {
    throw MalformedInput(
        origin, symbols_.size(),
        "a relocation is against symbol " + std::to_string(number) + ", but there are only " + std::to_string(size()));
  }
  const Elf64_Sym record = elf::load_symbol(symbols_.subspan(number * sizeof(Elf64_Sym)), image_.endian());
  Symbol symbol;
  symbol.name = record.st_name;
  symbol.type = ELF64_ST_TYPE(record.st_info);
  symbol.binding = ELF64_ST_BIND(record.st_info);
  symbol.value = record.st_value;
  std::uint32_t section = record.st_shndx;
  if (section == SHN_XINDEX) {
    const std::uint64_t place = number * sizeof(std::uint32_t);
    if (place + sizeof(std::uint32_t) > wide_indices_.size()) {
      throw MalformedInput(origin, number * sizeof(Elf64_Sym),
                           "the symbol's section is in a table that is missing or too short (SHT_SYMTAB_SHNDX)");
    }
    section = load<std::uint32_t>(wide_indices_.subspan(place), image_.endian());
  } else if (section == SHN_UNDEF || section >= SHN_LORESERVE) {
    return symbol;
  }
  if (section >= image_.sections().size()) {
    throw MalformedInput(origin, number * sizeof(Elf64_Sym),
                         "the symbol is in section " + std::to_string(section) + ", but there are only " +
                             std::to_string(image_.sections().size()));
  }
  symbol.section = section;
  return symbol;
}

std::optional<std::uint64_t> SymbolTable::address_of(const Symbol& symbol) const {
  if (!symbol.section) return {};
  return image_.sections()[*symbol.section].header.sh_addr + symbol.value;
}

std::string_view SymbolTable::name_of(const Symbol& symbol, std::size_t most) const {
  const std::uint32_t strings = image_.sections()[index_].header.sh_link;
  const auto text =
      strings < image_.sections().size() ? image_.bytes_of(image_.sections()[strings]) : std::span<const std::byte>();
  const auto rest = text.subspan(std::min<std::size_t>(symbol.name, text.size()));
  const auto looked_at = rest.first(std::min(rest.size(), most));
  const std::string_view name = text_before_zero(looked_at);
  if (name.size() == looked_at.size() && looked_at.size() < most) {
    throw MalformedInput({image_.name(), image_.sections()[index_].name}, 0,
                         "a symbol's name at " + std::to_string(symbol.name) + " does not end in its table");
  }
  return name;
}

}  // namespace sframe_gen::elf::object
