#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "trace/dwarf/debug_sections.hpp"

namespace sframe_gen::trace::dwarf {

/// The lines and files of a unit: its part of .debug_line (DWARF 5, section 6.2).
class LineTable {
 public:
  struct Row {
    std::uint64_t address;
    std::uint32_t file, line;
  };

  /// Reads the table that the first entry of a unit names. Throws MalformedInput.
  explicit LineTable(const Unit& unit);

  /// The row of an address: the last one at or before it, in the sequence of rows that has it. Null: none has.
  const Row* row_at(std::uint64_t address) const;
  /// The path of a file. Empty: there is none of this number. It stays as long as the table.
  std::string_view path_of(std::uint64_t file);
  bool has_file(std::uint64_t file) const;
  /// The addresses of the rows.
  std::vector<Range> ranges() const;

 private:
  struct Name {
    AttributeValue text;
    std::uint64_t directory = 0;
  };
  struct Sequence {
    Range addresses;
    std::size_t first = 0, last = 0;  ///< rows; the last is not among them
  };
  struct Header;
  struct State;

  void read_old_names(ByteReader& header);
  std::vector<Name> read_names(ByteReader& header, const Header& sizes);
  Name read_old_name(ByteReader& reader);
  void run(ByteReader& program, const Header& header);
  void run_extended(ByteReader& program, State& state);
  void end_sequence(State& state, std::uint64_t end);
  std::string make_path(std::uint64_t file);
  std::string_view text_of(const AttributeValue& text);

  const Unit* unit_;
  std::uint16_t version_ = 0;
  std::vector<Name> directories_, files_;
  std::vector<Row> rows_;
  std::vector<Sequence> sequences_;  ///< by their ends
  std::unordered_map<std::uint64_t, std::string> paths_;
};

}  // namespace sframe_gen::trace::dwarf
