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
#include "trace/dwarf/abbreviations.hpp"

namespace sframe_gen::trace::dwarf {

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
  /// Takes from the attributes of a unit's first entry what the others need.
  void set_bases(Unit& unit, const std::vector<std::pair<std::uint16_t, AttributeValue>>& attributes);

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

}  // namespace sframe_gen::trace::dwarf
