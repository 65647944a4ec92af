#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "elf/dynamic_table.hpp"
#include "elf/image.hpp"
#include "elf/records.hpp"
#include "sframe_gen/layout_plans.hpp"
#include "support/range.hpp"

/// Finds what would notice that a section got another address. Symbols may be stripped, so code and data are searched
/// as well: that may find a reference where there is none, but not miss one of the usual forms.
namespace sframe_gen::rewrite {

/// Whether a symbol of .symtab or .dynsym has its value inside `section`: local ones as well, since a linker script's
/// hidden symbol is local in the file. crt1.o's own name for its note does not count, nor do section and file symbols.
bool has_named_symbol_in(const elf::Image& image, const elf::Section& section);

/// Whether an entry of `symbol_table` is the one whose address tells a library from others (__dso_handle). No code
/// reads what is there; mold puts it at the first section where crtbegin.o has not defined it.
bool is_library_mark(const elf::Image& image, const elf::Section& symbol_table, const Elf64_Sym& symbol);

/// Whether the dynamic linker computes a pointer into `section` (Machine::pointer_relocations, SHT_RELR).
bool has_relative_relocation_to(const elf::Image& image, const elf::Section& section);

/// Whether an instruction may address `section` by its distance; in files with fixed addresses, whether the section's
/// address stands in code or data.
bool has_direct_reference_to(const elf::Image& image, const elf::Section& section);

/// A function that does nothing but return where a note is: its instructions are known to the last byte.
struct NoteFunction {
  Range addresses;
  std::uint64_t distance_offset = 0;  ///< in the file: 4 bytes, from the end of their instruction to the note
};

/// Sections and program headers that overlap and so have to move together, e.g. a PT_NOTE and its two notes.
struct MovedSections {
  Range range;
  std::uint64_t address = 0;
  std::uint64_t alignment = 1;
  std::vector<std::uint32_t> sections;  ///< indices, in the input
  std::vector<std::size_t> segments;    ///< indices, in the input
  TablePlan plan = TablePlan::Notes;    ///< the least plan that may move it
  bool has_build_id = false;
  /// File offsets, in the input, of numbers of 8 bytes that count from their own place, and so change when it does.
  std::vector<std::uint64_t> relative_numbers;
  std::vector<NoteFunction> functions;  ///< whose distances change with it
};

/// Why bytes have to stay, as the end of a sentence: "section .init at 0x1000 cannot move".
struct Immovable {
  std::string why;
};

/// Knows which sections at the front of a file can get another address without anyone noticing: .interp and notes,
/// which are found through program headers, and the tables of the dynamic linker, which are found through .dynamic.
class Movability {
 public:
  explicit Movability(const elf::Image& image);

  /// The group that holds the byte at `offset`.
  const std::variant<MovedSections, Immovable>& group_at(std::uint64_t offset) const;

 private:
  std::variant<MovedSections, Immovable> find_group(std::uint64_t offset) const;
  MovedSections collect(std::uint64_t offset) const;
  std::string why_section_stays(const elf::Section& section, MovedSections& group) const;
  std::string why_note_stays(const elf::Section& section, MovedSections& group) const;
  std::string why_table_stays(const elf::Section& section) const;
  bool is_referred_to(const elf::Section& section, const MovedSections& group) const;

  const elf::Image* image_;
  std::vector<elf::DynamicEntry> dynamic_;
  bool relocates_itself_;  ///< by its own code, without a dynamic linker
  mutable std::map<std::uint64_t, std::variant<MovedSections, Immovable>> groups_;  ///< by offset: each plan asks again
  // All symbols, relocations and code are searched for each: linkers put ten sections there at most, a few of which
  // they did not make themselves.
  mutable std::size_t sections_asked_for_ = 0, searches_ = 0;
};

}  // namespace sframe_gen::rewrite
