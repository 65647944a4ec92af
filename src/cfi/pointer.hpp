#pragma once

#include <cstdint>

#include "cfi/dwarf_constants.hpp"
#include "support/byte_reader.hpp"

namespace sframe_gen::cfi {

/// Reads the value of a DW_EH_PE-encoded pointer (LSB 5.0, section 10.5), whatever it is relative to.
inline std::uint64_t read_pointer_value(ByteReader& reader, std::uint8_t encoding, const char* what);

/// Reads a DW_EH_PE-encoded pointer. `section_address` is the address of offset 0 of the reader's section. Absolute and
/// pc-relative pointers are read; any other application throws MalformedInput, as neither has a defined base in a
/// linked x86-64 file.
inline std::uint64_t read_pointer(ByteReader& reader, std::uint8_t encoding, std::uint64_t section_address,
                                  const char* what);

// What linked files have in .eh_frame, a hundred thousand times in a large one, is read here; the rest elsewhere.

std::uint64_t read_other_pointer_value(ByteReader& reader, std::uint8_t encoding, const char* what);
std::uint64_t read_other_pointer(ByteReader& reader, std::uint8_t encoding, std::uint64_t section_address,
                                 const char* what);

inline std::uint64_t read_pointer_value(ByteReader& reader, std::uint8_t encoding, const char* what) {
  if ((encoding & pointer_encoding::format_mask) != pointer_encoding::sdata4)
    return read_other_pointer_value(reader, encoding, what);
  return static_cast<std::uint64_t>(std::int64_t{reader.i32(what)});
}

inline std::uint64_t read_pointer(ByteReader& reader, std::uint8_t encoding, std::uint64_t section_address,
                                  const char* what) {
  if (encoding != (pointer_encoding::pc_relative | pointer_encoding::sdata4))
    return read_other_pointer(reader, encoding, section_address, what);
  const std::uint64_t at = section_address + reader.offset();
  return at + static_cast<std::uint64_t>(std::int64_t{reader.i32(what)});
}

}  // namespace sframe_gen::cfi
