#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "elf/go_table.hpp"
#include "elf/image.hpp"
#include "support/hash.hpp"
#include "support/text.hpp"

namespace sframe_gen::elf {

/// Returns the addresses of the entry point, of all function symbols, and of all functions that Go's linker lists,
/// ascending. A damaged table has none. Throws Refused for symbol tables that are together larger than the file, as
/// they share bytes.
std::vector<std::uint64_t> function_starts(const Image& image);

/// Which name a function has that has several.
enum class SymbolChoice : std::uint8_t {
  LastInTable,  ///< but for glibc's inner names ("__GI_read")
  /// The one that others link to: a global symbol rather than a weak one, that rather than a local one, and inner names
  /// last. As in perf, a symbol without a size reaches to the next one, if no other reaches the address.
  ForPeople,
};

/// Function names for reports, from .symtab or else .dynsym, and from the table of Go's functions. A damaged table
/// gives no names rather than an error: nothing but the report's wording depends on it. For the same reason a table
/// gives no more names once those it gave are together longer than its NameBudget.
class SymbolNames {
 public:
  /// The image must outlive it.
  explicit SymbolNames(const Image& image, SymbolChoice choice = SymbolChoice::LastInTable);

  /// Name of the function symbol at or closest before `address` whose size reaches it, or else of the function that
  /// Go's linker lists there; empty if there is none.
  std::string name_at(std::uint64_t address);

  struct Named {
    std::string name;
    std::uint64_t begin, end;
  };
  /// The same with its place.
  std::optional<Named> symbol_at(std::uint64_t address);
  /// Where the next symbol begins, above `address`; the highest number if none does.
  std::uint64_t begin_after(std::uint64_t address) const;
  /// The first symbol with this name.
  std::optional<Named> find(std::string_view name) const;

 private:
  struct Symbol {
    std::uint64_t begin, end;
    std::uint32_t name;   ///< where it stands in strings_
    std::uint32_t order;  ///< in the table, with a rank in its highest bits: the highest is chosen
  };

  void read(const Image& image);
  std::uint32_t rank_of(const Elf64_Sym& symbol) const;
  const Symbol* without_size_before(std::uint64_t address) const;
  std::uint64_t end_of(const GoTable::Entry& entry);

  SymbolChoice choice_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> code_;  ///< sections, for symbols without a size
  std::span<const std::byte> strings_;
  NameBudget budget_;
  std::optional<GoTable> go_;
  SeededMap<std::uint64_t, std::uint64_t>
      ends_;                     ///< of code, by start: to find one takes a walk over a function's table
  std::vector<Symbol> symbols_;  ///< by begin, then by order
};

}  // namespace sframe_gen::elf
