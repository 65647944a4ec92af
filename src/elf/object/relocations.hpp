#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "elf/image.hpp"
#include "elf/object/symbol_table.hpp"

namespace sframe_gen::elf::object {

/// How a relocation changes the bytes it is for: stores S + A, or S + A - P, or nothing that matters to readers of call
/// frame information (a personality routine's place in the global offset table).
enum class RelocationForm : std::uint8_t { Nothing, Absolute, PcRelative };

struct RelocationType {
  RelocationForm form = RelocationForm::Nothing;
  std::uint8_t size = 0;  ///< bytes of the field; 0 with RelocationForm::Nothing
};

/// What the relocations of `machine`, an e_machine, mean that assemblers put into .eh_frame, .debug_frame and .sframe.
/// Without a value: not one of those. AMD64 psABI, table 4.9; ELF for the Arm 64-bit Architecture, "Data relocations";
/// ELF Application Binary Interface s390x Supplement, "Relocation types".
std::optional<RelocationType> find_relocation_type(std::uint16_t machine, std::uint32_t number);

/// The relocation that stores S + A - P in `size` bytes, 4 or 8.
std::uint32_t pc_relative_relocation(std::uint16_t machine, std::uint8_t size);

/// One relocation, however it is stored.
struct Relocation {
  std::uint64_t record_offset = 0;  ///< of its own, in its section
  std::uint64_t field_offset = 0;   ///< in the section that it is for
  std::uint32_t type = 0, symbol = 0;
  std::int64_t addend = 0;
};

/// Calls back with each relocation of `section`, of type SHT_RELA or SHT_CREL, in its order. Throws MalformedInput, and
/// Refused for relocations that have no addends of their own. `target` is the name of the section they are for.
void for_each_relocation(const elf::Image& object, const elf::Section& section, const std::string& target,
                         const std::function<void(const Relocation&)>& callback);

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

/// Relocations packed with LEB128, from LLVM 20 on; not in any <elf.h>.
inline constexpr std::uint32_t section_type_crel = 0x40000014;

/// What a relocation says of a field that holds the place of code: symbol + addend, so that another
/// relocation can name the same place.
struct CodeReference {
  std::uint64_t field_offset = 0;  ///< in the section that is relocated
  std::uint64_t address = 0;       ///< of the code, as elf::Image gives it to sections of objects
  std::uint32_t symbol_table = 0;  ///< section index
  std::uint32_t symbol = 0;
  std::int64_t addend = 0;
};

/// A relocation of any symbol.
struct FieldRelocation {
  std::uint64_t field_offset = 0;  ///< in the section that is relocated
  std::uint32_t type = 0;
  std::uint32_t size = 0;  ///< bytes; 0: the type is not known, and it has not been applied
};

/// A section of an object as it would be if the object was linked to the addresses that its sections have.
struct RelocatedSection {
  std::vector<std::byte> bytes;
  std::vector<CodeReference> code;      ///< ascending by field_offset, no two alike
  std::vector<FieldRelocation> fields;  ///< ascending by field_offset; those of `code` among them
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

/// Gives references from sections of the separate debug file of `object`, which has symbols of its own, symbols that
/// `object` has:
/// that of the section, or else a local one in it or, in a kernel module, a global one. Throws Refused where there is
/// none.
void name_by_symbols_of(const elf::Image& object, std::span<std::vector<CodeReference>> references);

}  // namespace sframe_gen::elf::object
