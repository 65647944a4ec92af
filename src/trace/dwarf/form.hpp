#pragma once

#include <cstdint>

#include "sframe_gen/error.hpp"
#include "support/bytes.hpp"

namespace sframe_gen::trace::dwarf {

/// Where damaged information was found. It is caught within the layer.
inline const InputOrigin debug_origin{"debugging information", "DWARF"};

/// An attribute's value, as its form has it.
struct AttributeValue {
  std::uint16_t form = 0;    ///< 0: there is no such attribute
  std::uint64_t number = 0;  ///< the constant, address, index or offset; for form::string the offset of the text
  bool is_present() const { return form != 0; }
};

/// How much of .debug_info a form takes (DWARF 5, section 7.5.6; GNU's forms as binutils has them).
struct FormSize {
  enum class Kind : std::uint8_t { Bytes, Address, Offset, Varying };
  Kind kind = Kind::Varying;
  std::uint8_t bytes = 0;  ///< of Kind::Bytes; an address and an offset are as large as the unit has them
};
FormSize size_of(std::uint16_t form);

/// Reads a number of 1, 2, 3, 4 or 8 bytes. Throws MalformedInput for other sizes.
std::uint64_t read_sized(ByteReader& reader, std::uint8_t size, const char* what);

/// Reads a value of a form that does not depend on the unit's sections.
AttributeValue read_form(ByteReader& reader, std::uint16_t form, std::uint16_t version, std::uint8_t address_size,
                         std::uint8_t offset_size);

}  // namespace sframe_gen::trace::dwarf
