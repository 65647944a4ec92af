#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "elf/image.hpp"
#include "support/bytes.hpp"
#include "support/range.hpp"
#include "support/text.hpp"

namespace sframe_gen::dwarf {

/// Where damaged information was found. It is caught within the layer.
inline const InputOrigin debug_origin{"debugging information", "DWARF"};

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

/// An attribute's value, as its form has it.
struct AttributeValue {
  std::uint16_t form = 0;    ///< 0: there is no such attribute
  std::uint64_t number = 0;  ///< the constant, address, index or offset; for form::string the offset of the text
  bool is_present() const { return form != 0; }
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

class DebugFile;

/// A unit of .debug_info: its header, and what its first entry says of the others. Offsets are of the section.
struct Unit {
  DebugFile* file = nullptr;
  const Unit* skeleton = nullptr;  ///< of a split unit: has its addresses
  std::uint64_t offset = 0, end = 0, first_entry = 0;
  std::uint64_t abbreviations = 0;
  std::uint16_t version = 0, tag = 0;
  std::uint8_t type = 0, address_size = 0, offset_size = 0;
  std::uint64_t split_id = 0;

  // Of the first entry, if it is read.
  std::uint64_t string_offsets_base = 0, address_base = 0, range_lists_base = 0, split_ranges_base = 0;
  std::uint64_t low_pc = 0;  ///< what ranges are relative to
  AttributeValue low, high, ranges, lines, directory, split_name;

  std::uint64_t no_address() const { return address_size == 4 ? 0xffffffffU : ~std::uint64_t{0}; }
  const Unit& with_addresses() const { return skeleton != nullptr ? *skeleton : *this; }
};

/// The sections of debugging information of a file, and the units in them.
class DebugFile {
 public:
  /// `is_split`: the sections are those of a .dwo file. What of them is damaged is as if it was not there.
  DebugFile(const elf::Image& image, bool is_split);
  DebugFile(const DebugFile&) = delete;
  DebugFile& operator=(const DebugFile&) = delete;

  /// Ascending. They do not move.
  std::vector<Unit>& units() { return units_; }
  /// Null: no unit has the offset.
  const Unit* unit_with(std::uint64_t offset) const;
  Abbreviations& abbreviations_of(const Unit& unit);
  /// Reads the first entry of a unit: tag, bases, ranges. Throws MalformedInput.
  void read_first_entry(Unit& unit);

  /// These throw MalformedInput where a value leads out of its section.
  std::optional<std::uint64_t> address_of(const Unit& unit, const AttributeValue& value) const;
  std::string_view text_of(const Unit& unit, const AttributeValue& value);
  /// Adds the ranges that attributes of an entry give. Ranges of code that the linker dropped are left out.
  void add_ranges(const Unit& unit, const AttributeValue& low, const AttributeValue& high, const AttributeValue& ranges,
                  std::vector<Range>& found);
  /// Whether code may begin there: linkers put what they dropped at 0 or at the end of the address space.
  bool may_begin_at(const Unit& unit, std::uint64_t address) const;

  std::span<const std::byte> lines() const { return lines_; }
  Endian endian() const { return endian_; }
  ByteReader info_reader(std::uint64_t offset, std::uint64_t end) const;
  /// The text at an offset of a section of strings or lines. Empty: it is longer than all names of the file may be.
  std::string_view text_at(std::span<const std::byte> section, std::uint64_t offset);
  std::span<const std::byte> strings() const { return strings_; }
  std::span<const std::byte> line_strings() const { return line_strings_; }
  void set_alternate(DebugFile* alternate) { alternate_ = alternate; }
  DebugFile* alternate() const { return alternate_; }

  Budget& abbreviation_budget() { return abbreviation_budget_; }
  Budget& line_budget() { return line_budget_; }

 private:
  std::span<const std::byte> section(const elf::Image& image, std::string_view name);
  void read_units();
  Unit read_header(ByteReader& reader) const;
  void set_bases(Unit& unit, const std::vector<std::pair<std::uint16_t, AttributeValue>>& attributes);
  std::uint64_t address_at(const Unit& unit, std::uint64_t index) const;
  void add_old_list(const Unit& unit, std::uint64_t offset, std::vector<Range>& found);
  void add_list(const Unit& unit, const AttributeValue& list, std::vector<Range>& found);
  void add_range(const Unit& unit, std::uint64_t begin, std::uint64_t end, std::vector<Range>& found);

  std::deque<std::vector<std::byte>> decompressed_;
  bool is_split_;
  Endian endian_;
  std::span<const std::byte> info_, abbreviations_, strings_, line_strings_, string_offsets_, addresses_, ranges_,
      range_lists_, lines_;
  std::vector<Unit> units_;
  std::unordered_map<std::uint64_t, Abbreviations> tables_;
  DebugFile* alternate_ = nullptr;
  bool has_code_at_zero_;
  Budget abbreviation_budget_, range_budget_, line_budget_;
  NameBudget name_budget_;
};

/// Reads entries one after the other. Offsets only grow, whatever siblings an entry claims to have.
class EntryReader {
 public:
  EntryReader(const Unit& unit, std::uint64_t offset)
      : unit_(&unit), reader_(unit.file->info_reader(offset, unit.end)), table_(&unit.file->abbreviations_of(unit)) {}

  bool at_end() const { return reader_.at_end(); }
  std::uint64_t offset() const { return reader_.offset(); }
  /// Null: the children of an entry end here. Then the attributes of an entry are read or skipped.
  const Abbreviation* next();
  void skip(const Abbreviation& abbreviation);
  /// Calls `take(name, value)` for each attribute.
  template <typename Take>
  void read(const Abbreviation& abbreviation, Take take) {
    for (const AttributeSpec& spec : table_->specs_of(abbreviation)) take(spec.name, read_value(spec));
  }
  std::size_t spec_count(const Abbreviation& abbreviation) const { return abbreviation.spec_count; }

 private:
  AttributeValue read_value(const AttributeSpec& spec);

  const Unit* unit_;
  ByteReader reader_;
  Abbreviations* table_;
};

/// Reads a value of a form that does not depend on the unit's sections.
AttributeValue read_form(ByteReader& reader, std::uint16_t form, std::uint16_t version, std::uint8_t address_size,
                         std::uint8_t offset_size);

/// Where a reference leads: the entry's unit and its offset there. Null: nowhere that is known.
struct EntryPlace {
  const Unit* unit = nullptr;
  std::uint64_t offset = 0;
};
EntryPlace place_of(const Unit& unit, const AttributeValue& reference);

/// The name of a function: its linkage name, or else its name, wherever the entries that it comes from have them.
std::string_view function_name(const Unit& unit, std::uint64_t offset);

}  // namespace sframe_gen::dwarf
