#pragma once

#include <cstddef>
#include <span>

#include "elf/constants.hpp"
#include "support/endian.hpp"

/// ELF64 records between their bytes in the file and the host's structures (gABI chapters 4 and 5). The spans must
/// hold at least the size of the record.
namespace sframe_gen::elf {

Elf64_Ehdr load_header(std::span<const std::byte> bytes, Endian endian);
Elf64_Phdr load_segment(std::span<const std::byte> bytes, Endian endian);
Elf64_Shdr load_section(std::span<const std::byte> bytes, Endian endian);

void store_header(std::span<std::byte> bytes, const Elf64_Ehdr& header, Endian endian);
void store_segment(std::span<std::byte> bytes, const Elf64_Phdr& segment, Endian endian);
void store_section(std::span<std::byte> bytes, const Elf64_Shdr& section, Endian endian);

}  // namespace sframe_gen::elf
