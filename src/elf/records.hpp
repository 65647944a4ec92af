#pragma once

#include <elf.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "support/endian.hpp"
#include "support/range.hpp"

namespace sframe_gen::elf {

/// Section type of .sframe (SFrame V3, section 2; GNU ABI OS-specific range). Not in the <elf.h> of glibc 2.36.
inline constexpr std::uint32_t section_type_gnu_sframe = 0x6ffffff4;
/// Program header type that covers .sframe.
inline constexpr std::uint32_t segment_type_gnu_sframe = 0x6474e554;

/// SHT_RELR, DT_RELRSZ and DT_RELR: in <elf.h> from glibc 2.36 on.
inline constexpr std::uint32_t section_type_relr = 19;
inline constexpr std::int64_t dynamic_tag_relr_size = 35;
inline constexpr std::int64_t dynamic_tag_relr = 36;

inline constexpr const char* sframe_section_name = ".sframe";
/// What covers the input's ELF header in memory where another stands in front of it.
inline constexpr const char* old_headers_name = ".orig_headers";

/// Every file-controlled number is below this once `check_preconditions` has passed, so that sums of a few of them
/// cannot wrap. User space addresses end at 2^47 (2^56 with five-level paging).
inline constexpr std::uint64_t largest_number = std::uint64_t{1} << 60;

/// `alignment` is 0 (taken as 1) or a power of two.
constexpr std::uint64_t align_down(std::uint64_t value, std::uint64_t alignment) {
  return value & ~(std::max<std::uint64_t>(alignment, 1) - 1);
}

constexpr std::uint64_t align_up(std::uint64_t value, std::uint64_t alignment) {
  return align_down(value + std::max<std::uint64_t>(alignment, 1) - 1, alignment);
}

constexpr bool is_power_of_two_or_zero(std::uint64_t value) {
  return (value & (value - 1)) == 0;
}

}  // namespace sframe_gen::elf

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
