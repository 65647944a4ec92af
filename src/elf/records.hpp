#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "elf/constants.hpp"
#include "support/endian.hpp"

/// ELF64 records between their bytes in the file and the host's structures (gABI chapters 4 and 5). The spans must
/// hold at least the size of the record.
namespace sframe_gen::elf {

Elf64_Ehdr load_header(std::span<const std::byte> bytes, Endian endian);
Elf64_Phdr load_segment(std::span<const std::byte> bytes, Endian endian);
Elf64_Shdr load_section(std::span<const std::byte> bytes, Endian endian);

/// Inline, so that nothing is read but what is asked for: tables have millions of them.
inline Elf64_Sym load_symbol(std::span<const std::byte> bytes, Endian endian) {
  Elf64_Sym symbol{};
  symbol.st_name = load<std::uint32_t>(bytes.subspan(offsetof(Elf64_Sym, st_name)), endian);
  symbol.st_info = std::to_integer<unsigned char>(bytes[offsetof(Elf64_Sym, st_info)]);
  symbol.st_other = std::to_integer<unsigned char>(bytes[offsetof(Elf64_Sym, st_other)]);
  symbol.st_shndx = load<std::uint16_t>(bytes.subspan(offsetof(Elf64_Sym, st_shndx)), endian);
  symbol.st_value = load<std::uint64_t>(bytes.subspan(offsetof(Elf64_Sym, st_value)), endian);
  symbol.st_size = load<std::uint64_t>(bytes.subspan(offsetof(Elf64_Sym, st_size)), endian);
  return symbol;
}

inline Elf64_Rela load_relocation(std::span<const std::byte> bytes, Endian endian) {
  const auto field = [&](std::size_t at) { return load<std::uint64_t>(bytes.subspan(at), endian); };
  return {field(offsetof(Elf64_Rela, r_offset)), field(offsetof(Elf64_Rela, r_info)),
          static_cast<std::int64_t>(field(offsetof(Elf64_Rela, r_addend)))};
}

/// Where in a symbol stands what a conversion changes.
inline constexpr std::size_t symbol_section_at = offsetof(Elf64_Sym, st_shndx),
                             symbol_value_at = offsetof(Elf64_Sym, st_value);

void store_header(std::span<std::byte> bytes, const Elf64_Ehdr& header, Endian endian);
void store_segment(std::span<std::byte> bytes, const Elf64_Phdr& segment, Endian endian);
void store_section(std::span<std::byte> bytes, const Elf64_Shdr& section, Endian endian);

}  // namespace sframe_gen::elf
