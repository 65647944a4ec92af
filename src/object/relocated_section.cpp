#include "object/relocated_section.hpp"

#include <algorithm>

#include "elf/machine.hpp"
#include "object/relocation_records.hpp"
#include "object/relocation_type.hpp"
#include "object/symbol_table.hpp"
#include "support/text.hpp"

namespace sframe_gen::object {

namespace {

/// One section on the way to its linked form.
class Relocator {
 public:
  Relocator(RelocationTables& tables, const elf::Section& section, PcBase base)
      : object_(tables.object()),
        tables_(tables),
        section_(section),
        base_(base),
        machine_(elf::machine_of(object_).number) {
    std::vector<std::byte> storage;
    const auto contents = object_.contents_of(section, storage);
    result_.bytes.assign(contents.begin(), contents.end());
  }

  RelocatedSection run() {
    for (const std::uint32_t index : tables_.for_section(section_.index)) {
      apply_all(object_.sections()[index]);
    }
    std::ranges::stable_sort(result_.unknown, {}, &UnknownRelocation::field_offset);
    const auto place_of = [](const CodeReference& reference) { return reference.field_offset; };
    std::ranges::stable_sort(result_.code, {}, place_of);
    const auto repeated = std::ranges::adjacent_find(result_.code, {}, place_of);
    if (repeated != result_.code.end()) {
      throw MalformedInput({object_.name(), section_.name}, repeated->field_offset,
                           "two relocations are for the same place");
    }
    return std::move(result_);
  }

 private:
  void apply_all(const elf::Section& relocations) {
    const SymbolTable& symbols = tables_.symbols(relocations.header.sh_link);
    for_each_relocation(object_, relocations, section_.name, [&](const Relocation& relocation) {
      const std::uint64_t field_offset = relocation.field_offset;
      const auto type = find_relocation_type(machine_, relocation.type);
      if (!type) return result_.unknown.push_back({field_offset, relocation.type});
      if (type->form == Form::Nothing) return;
      if (field_offset > result_.bytes.size() || result_.bytes.size() - field_offset < type->size) {
        throw MalformedInput({object_.name(), relocations.name}, relocation.record_offset,
                             "the relocation is for " + section_.name + "+" + hex(field_offset) + ", which has only " +
                                 hex(result_.bytes.size()) + " bytes");
      }
      if (apply(*type, {field_offset, 0, symbols.index(), relocation.symbol, relocation.addend}, symbols)) return;
      throw MalformedInput({object_.name(), relocations.name}, relocation.record_offset,
                           "the relocation for " + section_.name + "+" + hex(field_offset) +
                               " leads so far that its 4 bytes do not hold it");
    });
  }

  /// False: no linker would take it either.
  bool apply(const RelocationType& type, CodeReference reference, const SymbolTable& symbols) {
    const Symbol symbol = symbols.at(reference.symbol);
    const auto place = symbols.address_of(symbol);
    // An undefined symbol's addend must not make it the address of something.
    reference.address = place ? *place + static_cast<std::uint64_t>(reference.addend) : 0;
    if (place && is_in_code(*symbol.section, reference.address)) result_.code.push_back(reference);
    const std::uint64_t origin = section_.header.sh_addr + (base_ == PcBase::Field ? reference.field_offset : 0);
    const std::uint64_t value = reference.address - (type.form == Form::PcRelative ? origin : 0);
    const auto field = std::span(result_.bytes).subspan(reference.field_offset);
    if (type.size == sizeof(std::uint64_t)) {
      store(field, value, object_.endian());
      return true;
    }
    store(field, static_cast<std::uint32_t>(value), object_.endian());
    // Data may be far only because of the addresses that its sections were given here.
    return !place || !is_code(*symbol.section) || fits_in_4_bytes(value, type.form);
  }

  /// A distance has a sign, and an address may have one.
  static bool fits_in_4_bytes(std::uint64_t value, Form form) {
    constexpr std::uint64_t half = std::uint64_t{1} << 31U;
    return value < (form == Form::PcRelative ? half : 2 * half) || value >= -half;
  }

  bool is_code(std::uint32_t section) const {
    constexpr std::uint64_t code = SHF_ALLOC | SHF_EXECINSTR;
    return (object_.sections()[section].header.sh_flags & code) == code;
  }

  bool is_in_code(std::uint32_t section, std::uint64_t address) const {
    const Elf64_Shdr& header = object_.sections()[section].header;
    return is_code(section) && address >= header.sh_addr && address - header.sh_addr <= header.sh_size;
  }

  const elf::Image& object_;
  RelocationTables& tables_;
  const elf::Section& section_;
  PcBase base_;
  std::uint16_t machine_;
  RelocatedSection result_;
};

}  // namespace

RelocatedSection relocate(RelocationTables& tables, const elf::Section& section, PcBase base) {
  return Relocator(tables, section, base).run();
}

RelocatedSection relocate(const elf::Image& object, const elf::Section& section, PcBase base) {
  RelocationTables tables(object);
  return relocate(tables, section, base);
}

}  // namespace sframe_gen::object
