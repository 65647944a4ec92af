#include "object/foreign_reference.hpp"

#include <algorithm>
#include <iterator>
#include <map>

#include "object/symbol_table.hpp"

namespace sframe_gen::object {

namespace {

/// A symbol for each section, with its place in the section.
class SectionSymbols {
 public:
  explicit SectionSymbols(const elf::Image& object)
      : object_(object), is_module_(object.find_section(".gnu.linkonce.this_module") != nullptr) {
    const auto& sections = object.sections();
    const auto table = std::ranges::find(sections, std::uint32_t{SHT_SYMTAB},
                                         [](const elf::Section& section) { return section.header.sh_type; });
    if (table == sections.end()) throw Refused(object.name(), "has no symbol table, so nothing to name code by");
    table_ = table->index;
    for (const elf::Section& section : sections)
      if ((section.header.sh_flags & SHF_ALLOC) != 0) by_address_.push_back(&section);
    std::ranges::sort(by_address_, {}, address_of);
    const SymbolTable symbols(object, table_);
    for (std::uint32_t number = 1; number < symbols.size(); ++number) {
      const Symbol symbol = symbols.at(number);
      if (!symbol.section || rank_of(symbol) == Rank::Unusable) continue;
      const auto [known, is_first] = symbols_.try_emplace(*symbol.section, Named{number, symbol});
      if (!is_first && rank_of(symbol) < rank_of(known->second.symbol)) known->second = {number, symbol};
    }
  }

  void rename(CodeReference& reference) const {
    const elf::Section* const section = section_at(reference.address);
    if (section == nullptr) return;
    const auto found = symbols_.find(section->index);
    if (found == symbols_.end())
      throw Refused(object_.name(), "has no symbol for its section " + section->name + " to name code by");
    const auto& [number, symbol] = found->second;
    reference.symbol_table = table_;
    reference.symbol = number;
    reference.addend = static_cast<std::int64_t>(reference.address - (section->header.sh_addr + symbol.value));
  }

 private:
  struct Named {
    std::uint32_t number;
    Symbol symbol;
  };

  enum class Rank : std::uint8_t { Section, Local, Global, Unusable };

  /// strip -g leaves no symbol of a section that no relocation needs. A global symbol may be another object's in the
  /// end, or one that a library cannot refer to; only for modules, which no linker sees, it is what it says.
  Rank rank_of(const Symbol& symbol) const {
    if (symbol.type == STT_SECTION) return Rank::Section;
    if (symbol.binding == STB_LOCAL) return Rank::Local;
    return symbol.binding == STB_GLOBAL && is_module_ ? Rank::Global : Rank::Unusable;
  }

  /// Sections lie apart, so the end of one is in no other. Null: none is there.
  const elf::Section* section_at(std::uint64_t address) const {
    const auto after = std::ranges::upper_bound(by_address_, address, {}, address_of);
    if (after == by_address_.begin()) return nullptr;
    const elf::Section* const section = *std::prev(after);
    return address - section->header.sh_addr <= section->header.sh_size ? section : nullptr;
  }

  static std::uint64_t address_of(const elf::Section* section) { return section->header.sh_addr; }

  const elf::Image& object_;
  bool is_module_;                               ///< of the Linux kernel
  std::vector<const elf::Section*> by_address_;  ///< those that are loaded
  std::uint32_t table_ = 0;
  std::map<std::uint32_t, Named> symbols_;  ///< by section index
};

}  // namespace

void name_by_symbols_of(const elf::Image& object, std::vector<CodeReference>& references) {
  const SectionSymbols symbols(object);
  for (CodeReference& reference : references) symbols.rename(reference);
}

}  // namespace sframe_gen::object
