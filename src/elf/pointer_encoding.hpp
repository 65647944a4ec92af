#pragma once

#include <cstdint>

#include "support/bytes.hpp"

/// Pointers as .eh_frame and PT_GNU_EH_FRAME have them.
namespace sframe_gen::elf {

/// DW_EH_PE_* (LSB 5.0, section 10.5).
namespace pointer_encoding {
inline constexpr std::uint8_t absptr = 0x00, uleb128 = 0x01, udata2 = 0x02, udata4 = 0x03, udata8 = 0x04,
                              sleb128 = 0x09, sdata2 = 0x0a, sdata4 = 0x0b, sdata8 = 0x0c, format_mask = 0x0f;
inline constexpr std::uint8_t pc_relative = 0x10, data_relative = 0x30, aligned = 0x50, application_mask = 0x70,
                              indirect = 0x80, omit = 0xff;
}  // namespace pointer_encoding

/// Reads the value of a DW_EH_PE-encoded pointer (LSB 5.0, section 10.5), whatever it is relative to. An unknown format
/// throws MalformedInput, with `what`.
std::uint64_t read_pointer_value(ByteReader& reader, std::uint8_t encoding, const char* what);

}  // namespace sframe_gen::elf
