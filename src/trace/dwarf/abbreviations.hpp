#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

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

/// What tables of a file may ask for in time or memory: any number of references may lead to the same bytes.
class Budget {
 public:
  explicit Budget(std::uint64_t left) : left_(left) {}
  /// Throws MalformedInput, from then on each time, where less is left.
  void take(std::uint64_t amount) {
    if (amount > left_) left_ = 0, throw MalformedInput(debug_origin, 0, "tables overlap");
    left_ -= amount;
  }

 private:
  std::uint64_t left_;
};

struct AttributeSpec {
  std::uint16_t name, form;
  std::int64_t implicit_value;
};

/// How entries of one code are laid out. The sizes allow most to be skipped in one step.
struct Abbreviation {
  std::uint64_t code = 0;
  std::uint32_t first_spec = 0, spec_count = 0;
  std::uint32_t fixed_size = 0;              ///< bytes of attributes that are as large in any unit
  std::uint16_t addresses = 0, offsets = 0;  ///< attributes that are as large as the unit's addresses, offsets
  std::uint16_t tag = 0;
  bool has_children = false, is_fixed = true;  ///< fixed: each attribute has a size of its own
};

/// A table of .debug_abbrev, read as far as its codes are asked for.
class Abbreviations {
 public:
  explicit Abbreviations(ByteReader reader) : reader_(reader) {}
  /// Throws MalformedInput if it has none.
  const Abbreviation& find(std::uint64_t code, Budget& budget);
  std::span<const AttributeSpec> specs_of(const Abbreviation& abbreviation) const {
    return std::span(specs_).subspan(abbreviation.first_spec, abbreviation.spec_count);
  }

 private:
  const Abbreviation* find_read(std::uint64_t code) const;
  bool read_next(Budget& budget);
  void add_spec(Abbreviation& abbreviation, const AttributeSpec& spec);

  ByteReader reader_;
  std::vector<Abbreviation> read_;
  std::vector<AttributeSpec> specs_;
  std::unordered_map<std::uint64_t, std::size_t> sparse_;  ///< codes that are not one more than those before them
  bool at_end_ = false;
};

}  // namespace sframe_gen::trace::dwarf
