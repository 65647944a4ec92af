#include "verify/cfi_sections.hpp"

#include <elf.h>

#include <algorithm>
#include <string>
#include <utility>

#include "elf/compressed_section.hpp"
#include "elf/machine.hpp"
#include "elf/object/relocations.hpp"
#include "elf/object/symbol_table.hpp"
#include "support/text.hpp"

namespace sframe_gen::verify {

namespace {

/// gcc, clang and objcopy give it with -gz=zlib-gnu.
constexpr const char* compressed_debug_frame = ".zdebug_frame";

bool has_bytes(const elf::Section* section) {
  return section != nullptr && section->header.sh_type != SHT_NOBITS && section->header.sh_size != 0;
}

std::optional<CfiKind> kind_of(const std::string& name) {
  if (name == ".eh_frame") return CfiKind::EhFrame;
  if (name == ".debug_frame" || name == compressed_debug_frame) return CfiKind::DebugFrame;
  return std::nullopt;
}

/// One section of an object, as it would be if the object was linked to the addresses that its sections have.
class LinkedContents {
 public:
  LinkedContents(elf::object::RelocationTables& tables, const elf::Section& section)
      : object_(tables.object()), tables_(tables), section_(section), machine_(elf::machine_of(object_).number) {}

  std::vector<std::byte> read() {
    std::vector<std::byte> storage;
    const auto contents = object_.contents_of(section_, storage);
    bytes_.assign(contents.begin(), contents.end());
    for (const std::uint32_t index : tables_.for_section(section_.index)) relocate(object_.sections()[index]);
    std::ranges::sort(addresses_of_code_);
    const auto repeated = std::ranges::adjacent_find(addresses_of_code_);
    if (repeated != addresses_of_code_.end())
      throw MalformedInput({object_.name(), section_.name}, *repeated, "two relocations are for the same place");
    return std::move(bytes_);
  }

 private:
  void relocate(const elf::Section& relocations) {
    const elf::object::SymbolTable& symbols = tables_.symbols(relocations.header.sh_link);
    elf::object::for_each_relocation(
        object_, relocations, section_.name, [&](const elf::object::Relocation& relocation) {
          const auto field = relocated_field(machine_, relocation.type);
          if (!field) return;
          const InputOrigin origin{object_.name(), relocations.name};
          const std::string place = section_.name + "+" + hex(relocation.field_offset);
          if (relocation.field_offset > bytes_.size() || bytes_.size() - relocation.field_offset < field->size)
            throw MalformedInput(
                origin, relocation.record_offset,
                "the relocation is for " + place + ", which has only " + count_of(bytes_.size(), "byte"));
          if (!fill(*field, relocation, symbols))
            throw MalformedInput(origin, relocation.record_offset,
                                 "the relocation for " + place + " leads so far that its 4 bytes do not hold it");
        });
  }

  /// Returns false if a code address does not fit in the field. Data may be far only because of the addresses that the
  /// object's sections were given here. Undefined symbols and their addends count as 0.
  bool fill(const RelocatedField& field, const elf::object::Relocation& relocation,
            const elf::object::SymbolTable& symbols) {
    const elf::object::Symbol symbol = symbols.at(relocation.symbol);
    const auto named = symbols.address_of(symbol);
    const std::uint64_t target = named ? *named + static_cast<std::uint64_t>(relocation.addend) : 0;
    const std::uint64_t place = section_.header.sh_addr + relocation.field_offset;
    const std::uint64_t value = field.is_pc_relative ? target - place : target;
    const auto bytes = std::span(bytes_).subspan(relocation.field_offset);
    const elf::Section* const code = named ? code_section(*symbol.section) : nullptr;
    if (code != nullptr && target - code->header.sh_addr <= code->header.sh_size)
      addresses_of_code_.push_back(relocation.field_offset);
    if (field.size == 8) {
      store(bytes, value, object_.endian());
      return true;
    }
    store(bytes, static_cast<std::uint32_t>(value), object_.endian());
    constexpr std::uint64_t half = std::uint64_t{1} << 31U;
    const bool fits = value < (field.is_pc_relative ? half : 2 * half) || value >= -half;
    return code == nullptr || fits;
  }

  const elf::Section* code_section(std::uint32_t index) const {
    constexpr std::uint64_t loaded_code = SHF_ALLOC | SHF_EXECINSTR;
    const elf::Section& section = object_.sections()[index];
    return (section.header.sh_flags & loaded_code) == loaded_code ? &section : nullptr;
  }

  const elf::Image& object_;
  elf::object::RelocationTables& tables_;
  const elf::Section& section_;
  std::uint16_t machine_;
  std::vector<std::byte> bytes_;
  std::vector<std::uint64_t> addresses_of_code_;  ///< fields that hold one
};

/// Throws Refused if the sections together claim to be impossibly large: an object may have any number of small ones.
std::vector<CfiSection> read_from_object(const elf::Image& object) {
  std::vector<CfiSection> sections;
  elf::object::RelocationTables tables(object);
  std::uint64_t stored = 0, size = 0;
  for (const CfiKind kind : {CfiKind::EhFrame, CfiKind::DebugFrame}) {
    for (const elf::Section& section : object.sections()) {
      if (kind_of(section.name) != kind || !has_bytes(&section)) continue;
      sections.push_back({kind, section.header.sh_addr, {object.name(), section.name}, {}, {}});
      CfiSection& read = sections.back();
      read.storage = LinkedContents(tables, section).read();
      read.bytes = read.storage;
      stored += object.bytes_of(section).size();
      size += read.bytes.size();
      if (elf::is_impossible_growth(stored, size))
        throw Refused(object.name(), "compressed sections that claim to be impossibly large");
    }
  }
  return sections;
}

}  // namespace

std::vector<CfiSection> read_cfi_sections(const elf::Image& image) {
  if (image.is_object()) return read_from_object(image);
  const elf::Section* const plain = image.find_section(".debug_frame");
  const elf::Section* const debug_frame = plain != nullptr ? plain : image.find_section(compressed_debug_frame);
  std::vector<CfiSection> sections;
  // A separate debug file keeps .eh_frame as SHT_NOBITS: its bytes are in the file that runs.
  for (const elf::Section* const section : {image.find_section(".eh_frame"), debug_frame}) {
    if (!has_bytes(section)) continue;
    const CfiKind kind = section == debug_frame ? CfiKind::DebugFrame : CfiKind::EhFrame;
    sections.push_back({kind, section->header.sh_addr, {image.name(), section->name}, {}, {}});
    CfiSection& read = sections.back();
    read.bytes = kind == CfiKind::EhFrame ? image.bytes_of(*section) : image.contents_of(*section, read.storage);
  }
  return sections;
}

std::optional<RelocatedField> relocated_field(std::uint16_t machine, std::uint32_t type) {
  struct Meaning {
    std::uint32_t type = 0;
    std::uint16_t machine = 0;
    RelocatedField field;
  };
  constexpr RelocatedField word{4, false}, distance{4, true}, wide_word{8, false}, wide_distance{8, true};
  // AMD64 psABI, table 4.9; ELF for the Arm 64-bit Architecture, "Data relocations"; ELF Application Binary Interface
  // s390x Supplement, "Relocation types".
  constexpr Meaning meanings[]{
      {R_X86_64_32, EM_X86_64, word},
      {R_X86_64_32S, EM_X86_64, word},
      {R_X86_64_64, EM_X86_64, wide_word},
      {R_X86_64_PC32, EM_X86_64, distance},
      {R_X86_64_PC64, EM_X86_64, wide_distance},
      {R_AARCH64_ABS32, EM_AARCH64, word},
      {R_AARCH64_ABS64, EM_AARCH64, wide_word},
      {R_AARCH64_PREL32, EM_AARCH64, distance},
      {R_AARCH64_PREL64, EM_AARCH64, wide_distance},
      {R_390_32, EM_S390, word},
      {R_390_64, EM_S390, wide_word},
      {R_390_PC32, EM_S390, distance},
      {R_390_PC64, EM_S390, wide_distance},
  };
  for (const Meaning& meaning : meanings)
    if (meaning.machine == machine && meaning.type == type) return meaning.field;
  return std::nullopt;
}

}  // namespace sframe_gen::verify
