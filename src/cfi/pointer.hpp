#pragma once

#include <cstdint>

#include "support/byte_reader.hpp"

namespace sframe_gen::cfi {

/// Reads the value of a DW_EH_PE-encoded pointer (LSB 5.0, section 10.5), whatever it is relative to.
std::uint64_t read_pointer_value(ByteReader& reader, std::uint8_t encoding, const char* what);

/// Reads a DW_EH_PE-encoded pointer. `section_address` is the address of offset 0 of the reader's section. Absolute and
/// pc-relative pointers are read; any other application throws MalformedInput, as neither has a defined base in a
/// linked x86-64 file.
std::uint64_t read_pointer(ByteReader& reader, std::uint8_t encoding, std::uint64_t section_address, const char* what);

}  // namespace sframe_gen::cfi
