#include "elf/plan/references.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include "elf/constants.hpp"
#include "elf/load_lookup.hpp"
#include "elf/machine.hpp"
#include "elf/plan/code_references.hpp"
#include "elf/records.hpp"

namespace sframe_gen::elf {

namespace {

constexpr std::string_view library_mark = "__dso_handle";

template <typename T>
T number_at(std::span<const std::byte> bytes, std::size_t at, Endian endian) {
  return load<T>(bytes.subspan(at, sizeof(T)), endian);
}

bool rela_points_into(const Image& image, const Section& table, const Section& section) {
  const auto pointers = machine_of(image).pointer_relocations;
  const auto relocations = image.bytes_of(table);
  for (std::size_t at = 0; at + sizeof(Elf64_Rela) <= relocations.size(); at += sizeof(Elf64_Rela)) {
    const Elf64_Rela relocation = load_relocation(relocations.subspan(at), image.endian());
    if (!holds_address(section.header, static_cast<std::uint64_t>(relocation.r_addend))) continue;
    if (std::find(pointers.begin(), pointers.end(), ELF64_R_TYPE(relocation.r_info)) != pointers.end()) return true;
  }
  return false;
}

/// The word at an address of the input, where the file has it.
std::optional<std::uint64_t> word_at(const Image& image, std::uint64_t address) {
  const auto bytes = loaded_bytes(image, address, sizeof(std::uint64_t));
  return bytes.empty() ? std::nullopt : std::optional(load<std::uint64_t>(bytes, image.endian()));
}

/// gABI, "Relative Relocation Table": an even entry is the address of a word to relocate; an odd one has a bit for each
/// of the 63 words that follow. The addend is what stands there.
bool relr_points_into(const Image& image, const Section& table, const Section& section) {
  constexpr std::uint64_t words_of_a_bitmap = 63;
  const auto entries = image.bytes_of(table);
  const auto word_points = [&](std::uint64_t address) {
    const auto word = word_at(image, address);
    return word && holds_address(section.header, *word);
  };
  std::uint64_t next = 0;
  for (std::size_t at = 0; at + sizeof(std::uint64_t) <= entries.size(); at += sizeof(std::uint64_t)) {
    const auto entry = number_at<std::uint64_t>(entries, at, image.endian());
    if (entry % 2 == 0) {
      if (word_points(entry)) return true;
      next = entry + sizeof(std::uint64_t);
      continue;
    }
    for (std::uint64_t bit = 0; bit < words_of_a_bitmap; ++bit) {
      if ((entry >> (bit + 1) & 1) != 0 && word_points(next + bit * sizeof(std::uint64_t))) return true;
    }
    next += words_of_a_bitmap * sizeof(std::uint64_t);
  }
  return false;
}

bool has_relative_operand(const Image& image, const Code& code, const AddressRange& wanted) {
  switch (machine_of(image).abi) {
    case sframe::Abi::Amd64:
      return has_relative_operand_amd64(code, wanted);
    case sframe::Abi::Aarch64Big:
    case sframe::Abi::Aarch64Little:
      return has_relative_operand_aarch64(code, wanted);
    case sframe::Abi::S390x:
      return has_relative_operand_s390x(code, wanted);
  }
  return true;
}

bool has_absolute_operand(const Image& image, const Code& code, const AddressRange& wanted) {
  switch (machine_of(image).abi) {
    case sframe::Abi::Amd64:
      return has_absolute_operand_amd64(code, wanted);
    case sframe::Abi::Aarch64Big:
    case sframe::Abi::Aarch64Little:
      return has_absolute_operand_aarch64(code, wanted);
    case sframe::Abi::S390x:
      return has_absolute_operand_s390x(code, wanted);
  }
  return true;
}

/// Whether `counts` says so of a symbol that is defined.
template <typename Counts>
bool any_symbol(const Image& image, Counts counts) {
  for (const Section& table : image.sections()) {
    if (table.header.sh_type != SHT_SYMTAB && table.header.sh_type != SHT_DYNSYM) continue;
    const auto symbols = image.bytes_of(table);
    for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= symbols.size(); at += sizeof(Elf64_Sym)) {
      const Elf64_Sym symbol = load_symbol(symbols.subspan(at), image.endian());
      if (symbol.st_shndx != SHN_UNDEF && counts(table, symbol)) return true;
    }
  }
  return false;
}

/// Its first bytes, more than marks have: names of hostile files are long, and may have one for all symbols. Empty
/// where there is no table.
std::string_view name_of(const Image& image, const Section& symbol_table, const Elf64_Sym& symbol) {
  if (symbol_table.header.sh_link >= image.sections().size()) return {};
  const auto bytes = image.bytes_of(image.sections()[symbol_table.header.sh_link]);
  const std::string_view names(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  constexpr std::size_t enough = 16;
  const auto name = names.substr(std::min<std::size_t>(symbol.st_name, names.size()), enough);
  return name.substr(0, name.find('\0'));
}

/// Names of symbols whose bytes nobody reads: crt1.o's for its ABI note; a library's mark; and AArch64's mapping
/// symbols, which tell code from data (ELF for the Arm 64-bit Architecture, "Mapping symbols").
bool is_mere_mark(std::string_view name, std::uint16_t machine) {
  if (name == "__abi_tag" || name == library_mark) return true;
  const bool is_mapping = name == "$d" || name == "$x" || name.starts_with("$d.") || name.starts_with("$x.");
  return machine == EM_AARCH64 && is_mapping;
}

bool names_place_in(const Image& image, const Section& section, const Section& table, const Elf64_Sym& symbol) {
  const unsigned type = ELF64_ST_TYPE(symbol.st_info);
  return holds_address(section.header, symbol.st_value) && type != STT_SECTION && type != STT_FILE &&
         symbol.st_name != 0 && !is_mere_mark(name_of(image, table, symbol), image.header().e_machine);
}

}  // namespace

bool has_named_symbol_in(const Image& image, const Section& section) {
  return any_symbol(image, [&](const Section& table, const Elf64_Sym& symbol) {
    // Without section headers, the index is that of a section that once was.
    const bool may_be = symbol.st_shndx == section.index || !image.has_section_headers();
    return may_be && names_place_in(image, section, table, symbol);
  });
}

bool is_library_mark(const Image& image, const Section& symbol_table, const Elf64_Sym& symbol) {
  return name_of(image, symbol_table, symbol) == library_mark;
}

bool has_relative_relocation_to(const Image& image, const Section& section) {
  for (const Section& table : image.sections()) {
    if ((table.header.sh_flags & SHF_ALLOC) == 0) continue;
    if (table.header.sh_type == SHT_RELA && rela_points_into(image, table, section)) return true;
    if (table.header.sh_type == section_type_relr && relr_points_into(image, table, section)) return true;
  }
  return false;
}

bool has_address_word(const Code& code, const AddressRange& wanted) {
  const std::size_t first = (0 - code.address) % sizeof(std::uint64_t);
  for (std::size_t at = first; at + sizeof(std::uint64_t) <= code.bytes.size(); at += sizeof(std::uint64_t))
    if (wanted.contains(number_at<std::uint64_t>(code.bytes, at, code.endian))) return true;
  return false;
}

bool has_direct_reference_to(const Image& image, const Section& section) {
  const bool fixed = image.header().e_type == ET_EXEC;
  const AddressRange wanted{section.header.sh_addr, section.header.sh_size};
  for (const Section& other : image.sections()) {
    const Elf64_Shdr& header = other.header;
    if ((header.sh_flags & SHF_ALLOC) == 0) continue;
    const Code code{image.bytes_of(other), header.sh_addr, image.endian()};
    if ((header.sh_flags & SHF_EXECINSTR) != 0) {
      if (has_relative_operand(image, code, wanted)) return true;
      if (fixed && has_absolute_operand(image, code, wanted)) return true;
    } else if (fixed && (header.sh_type == SHT_PROGBITS || header.sh_type == SHT_INIT_ARRAY)) {
      if (has_address_word(code, wanted)) return true;
    }
  }
  return false;
}

}  // namespace sframe_gen::elf
