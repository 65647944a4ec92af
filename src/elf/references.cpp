#include "elf/references.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>

#include "elf/constants.hpp"
#include "elf/machine.hpp"
#include "elf/segment_table.hpp"

namespace sframe_gen::elf {

namespace {

bool points_into(std::uint64_t address, const Section& section) {
  return address - section.header.sh_addr < section.header.sh_size;
}

template <typename T>
T number_at(std::span<const std::byte> bytes, std::size_t at, Endian endian) {
  return load<T>(bytes.subspan(at, sizeof(T)), endian);
}

bool rela_points_into(const Image& image, const Section& table, const Section& section) {
  const auto pointers = machine_of(image).pointer_relocations;
  const auto relocations = image.bytes_of(table);
  for (std::size_t at = 0; at + sizeof(Elf64_Rela) <= relocations.size(); at += sizeof(Elf64_Rela)) {
    const auto addend = number_at<std::uint64_t>(relocations, at + offsetof(Elf64_Rela, r_addend), image.endian());
    if (!points_into(addend, section)) continue;
    const auto info = number_at<std::uint64_t>(relocations, at + offsetof(Elf64_Rela, r_info), image.endian());
    if (std::find(pointers.begin(), pointers.end(), ELF64_R_TYPE(info)) != pointers.end()) return true;
  }
  return false;
}

/// The word at an address of the input, where the file has it.
std::optional<std::uint64_t> word_at(const Image& image, std::uint64_t address) {
  const auto file = image.file_bytes();
  for (const Elf64_Phdr& segment : image.segments()) {
    const std::uint64_t within = address - segment.p_vaddr;
    const bool holds =
        segment.p_type == PT_LOAD && within < segment.p_filesz && sizeof(std::uint64_t) <= segment.p_filesz - within;
    if (holds) return number_at<std::uint64_t>(file, segment.p_offset + within, image.endian());
  }
  return {};
}

/// gABI, "Relative Relocation Table": an even entry is the address of a word to relocate; an odd one has a bit for each
/// of the 63 words that follow. The addend is what stands there.
bool relr_points_into(const Image& image, const Section& table, const Section& section) {
  constexpr std::uint64_t words_of_a_bitmap = 63;
  const auto entries = image.bytes_of(table);
  const auto word_points = [&](std::uint64_t address) {
    const auto word = word_at(image, address);
    return word && points_into(*word, section);
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

/// Bytes in front of an operand; 0 where the code begins.
unsigned byte_before(std::span<const std::byte> code, std::size_t at, std::size_t distance) {
  return distance <= at ? std::to_integer<unsigned>(code[at - distance]) : 0U;
}

/// Whether the four bytes at `at` may be a distance from the end of the instruction: they follow a ModRM byte with
/// mod 00 and rm 101 (AMD64 Architecture Programmer's Manual, volume 3, table A-34), and that an opcode with memory
/// operands. Without a look at the opcode, chance hits in large programs would be likely.
bool is_distance(std::span<const std::byte> code, std::size_t at) {
  if ((byte_before(code, at, 1) & 0xc7) != 0x05) return false;
  const unsigned opcode = byte_before(code, at, 2);
  if ((opcode & 0xc4) == 0 || (opcode & 0xf0) == 0x80 || (opcode & 0xfc) == 0xd0)
    return true;                                                        // add … cmp, mov, shifts
  if (opcode == 0x63 || opcode == 0x69 || opcode == 0x6b) return true;  // movsxd, imul
  if ((opcode & 0xfe) == 0xc0 || (opcode & 0xfe) == 0xc6 || (opcode & 0xf6) == 0xf6)
    return true;  // groups 2, 11, 3 … 5
  // The two- and three-byte opcodes: 0f, VEX and EVEX.
  return byte_before(code, at, 3) == 0x0f || byte_before(code, at, 4) == 0x0f || byte_before(code, at, 4) == 0xc5 ||
         byte_before(code, at, 5) == 0xc4 || byte_before(code, at, 6) == 0x62;
}

/// An immediate of up to four bytes may stand between the distance and the end of the instruction.
bool has_relative_operand(std::span<const std::byte> code, std::uint64_t address, const Section& section,
                          Endian endian) {
  constexpr std::uint64_t longest_immediate = 4;
  const std::uint64_t begin = section.header.sh_addr - longest_immediate;
  const std::uint64_t size = section.header.sh_size + longest_immediate;
  for (std::size_t at = 1; at + sizeof(std::int32_t) <= code.size(); ++at) {
    const auto distance = static_cast<std::int32_t>(number_at<std::uint32_t>(code, at, endian));
    if (address + at + sizeof(std::int32_t) + static_cast<std::uint64_t>(distance) - begin < size &&
        is_distance(code, at))
      return true;
  }
  return false;
}

/// Whether the bytes in front of a 32-bit number make it an operand: what compilers use to load, push, compare or store
/// an address below 4 GiB (AMD64 Architecture Programmer's Manual, volume 3, appendix A). Any four bytes would give
/// chance hits in most programs.
bool is_operand(std::span<const std::byte> code, std::size_t at) {
  const auto before = [&](std::size_t distance) { return byte_before(code, at, distance); };
  const unsigned last = before(1);
  if ((last & 0xf8) == 0xb8 || last == 0x68 || last == 0x3d) return true;              // mov, push, cmp
  if (last == 0x25 && (before(2) & 0xc7) == 0x04) return true;                         // [address]
  if ((before(2) == 0xc7 || before(2) == 0x81) && (last & 0xc0) != 0x80) return true;  // mov, cmp: register, [r]
  if (before(3) == 0xc7 && (before(2) & 0xc0) == 0x40) return true;                    // mov [r + 8 bits]
  if (before(4) == 0xc7 && (before(3) & 0xc7) == 0x44) return true;                    // mov [r + r + 8 bits]
  return before(6) == 0xc7 && (before(5) & 0xc7) == 0x05;                              // mov [rip + 32 bits]
}

bool has_address_in_code(std::span<const std::byte> code, const Section& section, Endian endian) {
  for (std::size_t at = 1; at + sizeof(std::uint32_t) <= code.size(); ++at)
    if (points_into(number_at<std::uint32_t>(code, at, endian), section) && is_operand(code, at)) return true;
  return false;
}

bool has_address_in_data(std::span<const std::byte> data, const Section& section, Endian endian) {
  for (std::size_t at = 0; at + sizeof(std::uint64_t) <= data.size(); at += sizeof(std::uint64_t))
    if (points_into(number_at<std::uint64_t>(data, at, endian), section)) return true;
  return false;
}

/// Whether `counts` says so of a symbol whose value lies in the section.
template <typename Counts>
bool any_symbol_in(const Image& image, const Section& section, Counts counts) {
  for (const Section& table : image.sections()) {
    if (table.header.sh_type != SHT_SYMTAB && table.header.sh_type != SHT_DYNSYM) continue;
    const auto symbols = image.bytes_of(table);
    for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= symbols.size(); at += sizeof(Elf64_Sym)) {
      const auto symbol = symbols.subspan(at, sizeof(Elf64_Sym));
      const auto info = std::to_integer<unsigned>(symbol[offsetof(Elf64_Sym, st_info)]);
      const auto index = number_at<std::uint16_t>(symbol, offsetof(Elf64_Sym, st_shndx), image.endian());
      const auto value = number_at<std::uint64_t>(symbol, offsetof(Elf64_Sym, st_value), image.endian());
      if (index == section.index && points_into(value, section) && counts(table, symbol, info)) return true;
    }
  }
  return false;
}

/// crt1.o names its ABI note so, and nothing refers to it.
bool is_abi_tag(const Image& image, const Section& symbol_table, std::uint32_t name) {
  constexpr std::string_view abi_tag = "__abi_tag";
  if (symbol_table.header.sh_link >= image.sections().size()) return false;
  const auto names = image.bytes_of(image.sections()[symbol_table.header.sh_link]);
  if (name >= names.size() || abi_tag.size() >= names.size() - name) return false;
  const auto found = std::string_view(reinterpret_cast<const char*>(names.data()) + name, abi_tag.size() + 1);
  return found == std::string_view(abi_tag.data(), abi_tag.size() + 1);
}

}  // namespace

bool has_global_symbol_in(const Image& image, const Section& section) {
  return any_symbol_in(image, section, [](const Section&, std::span<const std::byte>, unsigned info) {
    return ELF64_ST_BIND(info) != STB_LOCAL;
  });
}

bool has_named_symbol_in(const Image& image, const Section& section) {
  return any_symbol_in(image, section, [&](const Section& table, std::span<const std::byte> symbol, unsigned info) {
    if (ELF64_ST_TYPE(info) == STT_SECTION || ELF64_ST_TYPE(info) == STT_FILE) return false;
    const auto name = number_at<std::uint32_t>(symbol, offsetof(Elf64_Sym, st_name), image.endian());
    return name != 0 && !is_abi_tag(image, table, name);
  });
}

bool has_relative_relocation_to(const Image& image, const Section& section) {
  for (const Section& table : image.sections()) {
    if ((table.header.sh_flags & SHF_ALLOC) == 0) continue;
    if (table.header.sh_type == SHT_RELA && rela_points_into(image, table, section)) return true;
    if (table.header.sh_type == section_type_relr && relr_points_into(image, table, section)) return true;
  }
  return false;
}

bool has_direct_reference_to(const Image& image, const Section& section) {
  const bool fixed = image.header().e_type == ET_EXEC;
  for (const Section& other : image.sections()) {
    const Elf64_Shdr& header = other.header;
    if ((header.sh_flags & SHF_ALLOC) == 0) continue;
    const auto bytes = image.bytes_of(other);
    if ((header.sh_flags & SHF_EXECINSTR) != 0) {
      if (has_relative_operand(bytes, header.sh_addr, section, image.endian())) return true;
      if (fixed && has_address_in_code(bytes, section, image.endian())) return true;
    } else if (fixed && (header.sh_type == SHT_PROGBITS || header.sh_type == SHT_INIT_ARRAY)) {
      if (has_address_in_data(bytes, section, image.endian())) return true;
    }
  }
  return false;
}

}  // namespace sframe_gen::elf
