#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "elf/image.hpp"
#include "sframe_gen/error.hpp"

namespace sframe_gen::verify {

/// The two forms of call frame information, which differ in how an FDE names its CIE and where the section ends.
enum class CfiKind : std::uint8_t { EhFrame, DebugFrame };

/// One section of call frame information, its bytes in memory.
struct CfiSection {
  CfiKind kind = CfiKind::EhFrame;
  std::uint64_t address = 0;
  InputOrigin origin;
  std::vector<std::byte> storage;    ///< holds the bytes of a compressed or relocated section
  std::span<const std::byte> bytes;  ///< into the image or `storage`
};

/// Reads .eh_frame (if it has bytes in this file), then .debug_frame or .zdebug_frame, decompressed. Of an object,
/// reads all sections of these names, since groups may have given it several, and relocates them. Throws
/// MalformedInput, and Refused for relocations without addends.
///
/// The judge does this apart from src/cfi, whose reading made the rows. What a relocation means is told here, too.
/// Relocation records, symbols and compressed bytes are read by src/elf/object and src/elf.
std::vector<CfiSection> read_cfi_sections(const elf::Image& image);

/// How a relocation computes its field from S + A, the address that it names.
struct RelocatedField {
  std::uint8_t size = 0;        ///< bytes
  bool is_pc_relative = false;  ///< the field holds S + A - P, else S + A
};

/// Returns what a relocation of `machine` (an e_machine) stores. No value: the type is not known, or names what does
/// not matter to rows, such as the place of a personality routine in the global offset table.
std::optional<RelocatedField> relocated_field(std::uint16_t machine, std::uint32_t type);

}  // namespace sframe_gen::verify
