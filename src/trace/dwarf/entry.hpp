#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "support/bytes.hpp"
#include "trace/dwarf/abbreviations.hpp"
#include "trace/dwarf/debug_sections.hpp"

namespace sframe_gen::trace::dwarf {

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

/// Reads the first entry of a unit into it: tag, bases, ranges. Throws MalformedInput.
void read_first_entry(Unit& unit);

/// Where a reference leads: the entry's unit and its offset there. Null: nowhere that is known.
struct EntryPlace {
  const Unit* unit = nullptr;
  std::uint64_t offset = 0;
};
EntryPlace place_of(const Unit& unit, const AttributeValue& reference);

/// The name of a function: its linkage name, or else its name, wherever the entries that it comes from have them.
struct FunctionName {
  std::string_view text;  ///< empty: it has none
  EntryPlace place;       ///< the entry that has it
  bool is_linkage_name = false;
};
FunctionName function_name(const Unit& unit, std::uint64_t offset);

}  // namespace sframe_gen::trace::dwarf
