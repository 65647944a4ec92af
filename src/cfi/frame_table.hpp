#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cfi/dwarf_register.hpp"
#include "sframe_gen/coverage.hpp"
#include "sframe_gen/error.hpp"
#include "support/endian.hpp"

/// CIEs and FDEs as plain values. Spans point into the section's bytes.
namespace sframe_gen::cfi {

enum class FrameSection : std::uint8_t { EhFrame, DebugFrame };

/// A common information entry (DWARF 5, section 6.4.1; LSB 5.0, section 10.6 for .eh_frame).
struct Cie {
  std::uint64_t code_alignment = 1;
  std::int64_t data_alignment = 1;
  DwarfRegister return_address{};
  std::uint8_t pointer_encoding = 0;  ///< DW_EH_PE_* of FDE addresses and set_loc ('R'); 0 is an absolute pointer
  bool signal_frame = false;          ///< augmentation 'S'
  std::span<const std::byte> initial_instructions;
  bool b_key = false;                  ///< augmentation 'B': return addresses are signed with key B (aarch64)
  bool has_augmentation_data = false;  ///< augmentation 'z': FDEs have some of it too
  bool has_unknown_letters = false;    ///< what its rules mean is not known, only where they are
};

/// A frame description entry.
struct Fde {
  std::uint64_t function_start = 0;  ///< virtual address
  std::uint64_t function_size = 0;   ///< bytes
  std::uint64_t section_offset = 0;  ///< of the FDE
  std::uint32_t cie_index = 0;       ///< into FrameTable::cies
  std::span<const std::byte> instructions;
};

/// One section's CIEs and FDEs.
struct FrameTable {
  /// More are counted, not named.
  static constexpr std::size_t most_named_unreadable = 1000;
  Origin origin;
  Endian endian = Endian::Little;
  std::uint64_t section_address = 0;
  std::span<const std::byte> section_bytes;
  std::vector<Cie> cies;
  std::vector<Fde> fdes;  ///< that can be read
  std::uint64_t unreadable_count = 0;
  std::vector<UnreadableFde> unreadable;  ///< the first of them

  /// Counts an FDE that cannot be read, and names it where it is one of the first.
  void leave_out(std::uint64_t fde_offset, const std::string& why) {
    ++unreadable_count;
    if (unreadable.size() < most_named_unreadable) unreadable.push_back({origin.section, fde_offset, why});
  }

  /// Offset in the section of the FDE's function start: behind its length and the place of its CIE, which have 4
  /// bytes each, or 4 + 8 and 8 (DWARF 5, section 7.2.2).
  std::uint64_t start_field_of(const Fde& fde) const {
    const bool wide = load<std::uint32_t>(section_bytes.subspan(fde.section_offset), endian) == UINT32_MAX;
    return fde.section_offset + (wide ? 20 : 8);
  }

  /// Offset in the section of bytes that lie in it.
  std::uint64_t offset_of(std::span<const std::byte> part) const {
    return static_cast<std::uint64_t>(part.data() - section_bytes.data());
  }
};

}  // namespace sframe_gen::cfi
