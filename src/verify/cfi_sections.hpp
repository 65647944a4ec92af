#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "elf/image.hpp"
#include "sframe_gen/error.hpp"
#include "support/endian.hpp"

/// Sections of call frame information, and the CIEs and FDEs that libdwarf lists of one.
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

/// More than any register number in use (x86-64's end at 130, aarch64's at 127, s390x's at 83).
inline constexpr std::uint16_t most_registers = 160;
/// Nearly all FDEs get by with so many, the general registers. No CIE may return by one beyond.
inline constexpr std::uint16_t usual_registers = 36;

/// A common information entry (DWARF 5, section 6.4.1; LSB 5.0, section 10.6 for .eh_frame).
struct DwarfCie {
  std::uint64_t code_alignment = 1;
  std::uint8_t pointer_encoding = 0;  ///< DW_EH_PE_* of FDE addresses and DW_CFA_set_loc; 0 is an absolute pointer
  bool signal_frame = false;          ///< augmentation 'S'
  bool b_key = false;                 ///< augmentation 'B': return addresses are signed with the B key (aarch64)
  std::span<const std::byte> initial_instructions;
};

/// A frame description entry.
struct DwarfFde {
  std::uint64_t function_start = 0;  ///< virtual address
  std::uint64_t function_size = 0;   ///< bytes
  std::uint64_t section_offset = 0;  ///< of the FDE
  std::uint32_t cie_index = 0;       ///< into DwarfTable::cies
  std::span<const std::byte> instructions;
};

/// What libdwarf lists of one section, as plain values. Spans point into the section's bytes.
struct DwarfTable {
  InputOrigin origin;
  CfiKind kind = CfiKind::EhFrame;
  Endian endian = Endian::Little;
  std::uint64_t section_address = 0;
  std::span<const std::byte> section_bytes;
  std::vector<DwarfCie> cies;
  std::vector<DwarfFde> fdes;

  const DwarfCie& cie_of(std::size_t fde_index) const { return cies[fdes[fde_index].cie_index]; }

  /// Returns the offset in the section of bytes that lie in it.
  std::uint64_t offset_of(std::span<const std::byte> part) const {
    return static_cast<std::uint64_t>(part.data() - section_bytes.data());
  }
};

}  // namespace sframe_gen::verify
