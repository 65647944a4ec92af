#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "support/bytes.hpp"
#include "trace/dwarf/form.hpp"

namespace sframe_gen::trace::dwarf {

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
