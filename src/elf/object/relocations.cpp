#include "elf/object/relocations.hpp"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <iterator>
#include <map>

#include "elf/machine.hpp"
#include "elf/object/symbol_table.hpp"
#include "support/bytes.hpp"
#include "support/text.hpp"

namespace sframe_gen::elf::object {

namespace {

/// Not in the <elf.h> of glibc 2.36.
constexpr std::uint32_t relocation_aarch64_plt32 = 314, relocation_aarch64_gotpcrel32 = 315;

struct Known {
  std::uint16_t machine = EM_NONE;
  std::uint32_t number = 0;
  RelocationType type;
};

constexpr std::array known_types{
    Known{EM_X86_64, R_X86_64_NONE, {}},
    Known{EM_X86_64, R_X86_64_64, {RelocationForm::Absolute, 8}},
    Known{EM_X86_64, R_X86_64_PC32, {RelocationForm::PcRelative, 4}},
    Known{EM_X86_64, R_X86_64_32, {RelocationForm::Absolute, 4}},
    Known{EM_X86_64, R_X86_64_32S, {RelocationForm::Absolute, 4}},
    Known{EM_X86_64, R_X86_64_PC64, {RelocationForm::PcRelative, 8}},
    Known{EM_X86_64, R_X86_64_PLT32, {}},
    Known{EM_X86_64, R_X86_64_GOTPCREL, {}},
    Known{EM_X86_64, R_X86_64_GOTPCREL64, {}},
    Known{EM_AARCH64, R_AARCH64_NONE, {}},
    Known{EM_AARCH64, R_AARCH64_ABS64, {RelocationForm::Absolute, 8}},
    Known{EM_AARCH64, R_AARCH64_ABS32, {RelocationForm::Absolute, 4}},
    Known{EM_AARCH64, R_AARCH64_PREL64, {RelocationForm::PcRelative, 8}},
    Known{EM_AARCH64, R_AARCH64_PREL32, {RelocationForm::PcRelative, 4}},
    Known{EM_AARCH64, relocation_aarch64_plt32, {}},
    Known{EM_AARCH64, relocation_aarch64_gotpcrel32, {}},
    Known{EM_S390, R_390_NONE, {}},
    Known{EM_S390, R_390_64, {RelocationForm::Absolute, 8}},
    Known{EM_S390, R_390_32, {RelocationForm::Absolute, 4}},
    Known{EM_S390, R_390_PC64, {RelocationForm::PcRelative, 8}},
    Known{EM_S390, R_390_PC32, {RelocationForm::PcRelative, 4}},
    Known{EM_S390, R_390_PLT32, {}},
    Known{EM_S390, R_390_PLT64, {}},
};

using Callback = std::function<void(const Relocation&)>;

void read_rela(ByteReader reader, const Callback& callback) {
  while (!reader.at_end()) {
    Relocation relocation;
    relocation.record_offset = reader.offset();
    relocation.field_offset = reader.u64("relocation offset");
    const std::uint64_t info = reader.u64("relocation info");
    relocation.addend = reader.i64("relocation addend");
    relocation.type = static_cast<std::uint32_t>(ELF64_R_TYPE(info));
    relocation.symbol = static_cast<std::uint32_t>(ELF64_R_SYM(info));
    callback(relocation);
  }
}

/// SHT_CREL, as LLVM 20 and later writes it: ULEB128 of count * 8 + (addends ? 4 : 0) + shift, and for each relocation
/// how it differs from the one before.
///
///   first byte   bit 0 symbol, 1 type, 2 addend (where there are any): an SLEB128 of each that is set follows;
///                the bits above them, of this byte and the ULEB128 that it begins: the offset, in units of 2^shift
class CrelReader {
 public:
  explicit CrelReader(const ByteReader& reader) : reader_(reader) {}

  bool has_addends() {
    header_ = reader_.uleb128("CREL header");
    return (header_ & addends_bit) != 0;
  }

  void read_all(const Callback& callback) {
    const unsigned shift = header_ % addends_bit;
    std::uint64_t offset = 0;
    Relocation relocation;
    for (std::uint64_t left = header_ / 8; left != 0; --left) {
      relocation.record_offset = reader_.offset();
      const std::uint8_t first = reader_.u8("relocation");
      offset += offset_delta(first);
      if ((first & 1U) != 0) relocation.symbol += static_cast<std::uint32_t>(reader_.sleb128("relocation symbol"));
      if ((first & 2U) != 0) relocation.type += static_cast<std::uint32_t>(reader_.sleb128("relocation type"));
      if ((first & 4U) != 0) addend_ += static_cast<std::uint64_t>(reader_.sleb128("relocation addend"));
      relocation.field_offset = offset << shift;
      relocation.addend = static_cast<std::int64_t>(addend_);
      callback(relocation);
    }
  }

 private:
  static constexpr unsigned addends_bit = 4, flag_bits = 3, offset_bits_in_first = 7 - flag_bits;

  std::uint64_t offset_delta(std::uint8_t first) {
    const bool goes_on = first >= 0x80;
    const std::uint64_t low = (first & 0x7fU) >> flag_bits;
    return goes_on ? low + (reader_.uleb128("relocation offset") << offset_bits_in_first) : low;
  }

  ByteReader reader_;
  std::uint64_t header_ = 0;
  std::uint64_t addend_ = 0;  ///< modulo 2^64
};

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
    std::ranges::stable_sort(result_.fields, {}, &FieldRelocation::field_offset);
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
      if (!type) return result_.fields.push_back({field_offset, relocation.type, 0});
      if (type->form == RelocationForm::Nothing) return;
      if (field_offset > result_.bytes.size() || result_.bytes.size() - field_offset < type->size) {
        throw MalformedInput({object_.name(), relocations.name}, relocation.record_offset,
                             "the relocation is for " + section_.name + "+" + hex(field_offset) + ", which has only " +
                                 count_of(result_.bytes.size(), "byte"));
      }
      result_.fields.push_back({field_offset, relocation.type, static_cast<std::uint32_t>(type->size)});
      if (apply(*type, {field_offset, 0, symbols.index(), relocation.symbol, relocation.addend}, symbols)) return;
      throw MalformedInput({object_.name(), relocations.name}, relocation.record_offset,
                           "the relocation for " + section_.name + "+" + hex(field_offset) +
                               " leads so far that its 4 bytes do not hold it");
    });
  }

  /// Returns false for a relocation that linkers refuse as well.
  bool apply(const RelocationType& type, CodeReference reference, const SymbolTable& symbols) {
    const Symbol symbol = symbols.at(reference.symbol);
    const auto place = symbols.address_of(symbol);
    // An undefined symbol's addend must not make it the address of something.
    reference.address = place ? *place + static_cast<std::uint64_t>(reference.addend) : 0;
    if (place && is_in_code(*symbol.section, reference.address)) result_.code.push_back(reference);
    const std::uint64_t origin = section_.header.sh_addr + (base_ == PcBase::Field ? reference.field_offset : 0);
    const std::uint64_t value = reference.address - (type.form == RelocationForm::PcRelative ? origin : 0);
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
  static bool fits_in_4_bytes(std::uint64_t value, RelocationForm form) {
    constexpr std::uint64_t half = std::uint64_t{1} << 31U;
    return value < (form == RelocationForm::PcRelative ? half : 2 * half) || value >= -half;
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

/// A symbol for each section, with its place in the section.
class SectionSymbols {
 public:
  explicit SectionSymbols(const elf::Image& object)
      : object_(object), is_module_(object.find_section(".gnu.linkonce.this_module") != nullptr), by_address_(object) {
    const auto& sections = object.sections();
    const auto table = std::ranges::find(sections, std::uint32_t{SHT_SYMTAB},
                                         [](const elf::Section& section) { return section.header.sh_type; });
    if (table == sections.end()) throw Refused(object.name(), "no symbol table, so nothing to name code by");
    table_ = table->index;
    const SymbolTable symbols(object, table_);
    for (std::uint32_t number = 1; number < symbols.size(); ++number) {
      const Symbol symbol = symbols.at(number);
      if (!symbol.section || rank_of(symbol) == Rank::Unusable) continue;
      const auto [known, is_first] = symbols_.try_emplace(*symbol.section, Named{number, symbol});
      if (!is_first && rank_of(symbol) < rank_of(known->second.symbol)) known->second = {number, symbol};
    }
  }

  void rename(CodeReference& reference) const {
    const elf::Section* const section = by_address_.find(reference.address);
    if (section == nullptr) return;
    const auto found = symbols_.find(section->index);
    if (found == symbols_.end())
      throw Refused(object_.name(), "no symbol for its section " + section->name + " to name code by");
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

  const elf::Image& object_;
  bool is_module_;  ///< of the Linux kernel
  elf::SectionsByAddress by_address_;
  std::uint32_t table_ = 0;
  std::map<std::uint32_t, Named> symbols_;  ///< by section index
};

}  // namespace

std::optional<RelocationType> find_relocation_type(std::uint16_t machine, std::uint32_t number) {
  const auto found = std::find_if(known_types.begin(), known_types.end(), [&](const Known& known) {
    return known.machine == machine && known.number == number;
  });
  if (found == known_types.end()) return {};
  return found->type;
}

std::uint32_t pc_relative_relocation(std::uint16_t machine, std::uint8_t size) {
  const auto found = std::find_if(known_types.begin(), known_types.end(), [&](const Known& known) {
    return known.machine == machine && known.type.form == RelocationForm::PcRelative && known.type.size == size;
  });
  assert(found != known_types.end());
  return found->number;
}

void for_each_relocation(const elf::Image& object, const elf::Section& section, const std::string& target,
                         const Callback& callback) {
  const InputOrigin origin{object.name(), section.name};
  const ByteReader reader(object.bytes_of(section), object.endian(), origin);
  if (section.header.sh_type == SHT_RELA) return read_rela(reader, callback);
  CrelReader packed(reader);
  if (section.header.sh_type != section_type_crel || !packed.has_addends())
    throw Refused(object.name(), "relocations without addends for " + target);
  packed.read_all(callback);
}

RelocationTables::RelocationTables(const elf::Image& object) : object_(object) {
  for (const elf::Section& section : object.sections()) {
    const std::uint32_t type = section.header.sh_type;
    if (type == SHT_REL || type == SHT_RELA || type == section_type_crel)
      tables_[section.header.sh_info].push_back(section.index);
  }
}

std::span<const std::uint32_t> RelocationTables::for_section(std::uint32_t index) const {
  const auto found = tables_.find(index);
  return found == tables_.end() ? std::span<const std::uint32_t>() : found->second;
}

const SymbolTable& RelocationTables::symbols(std::uint32_t index) {
  const auto found = symbols_.find(index);
  return found == symbols_.end() ? symbols_.emplace(index, SymbolTable(object_, index)).first->second : found->second;
}

RelocatedSection relocate(RelocationTables& tables, const elf::Section& section, PcBase base) {
  return Relocator(tables, section, base).run();
}

RelocatedSection relocate(const elf::Image& object, const elf::Section& section, PcBase base) {
  RelocationTables tables(object);
  return relocate(tables, section, base);
}

void name_by_symbols_of(const elf::Image& object, std::span<std::vector<CodeReference>> references) {
  const SectionSymbols symbols(object);
  for (std::vector<CodeReference>& of_section : references)
    for (CodeReference& reference : of_section) symbols.rename(reference);
}

}  // namespace sframe_gen::elf::object
