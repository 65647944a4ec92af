#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "elf/image.hpp"

namespace sframe_gen::elf {

/// Function names for reports, from .symtab or else .dynsym. A damaged table gives no names rather than an error:
/// nothing but the report's wording depends on it.
class SymbolNames {
 public:
  explicit SymbolNames(const Image& image);

  /// Name of the function symbol at or closest before `address` whose size reaches it; empty if none does.
  std::string name_at(std::uint64_t address) const;

 private:
  void read(const Image& image);

  struct Symbol {
    std::uint64_t begin, end;
    std::string name;
  };
  std::vector<Symbol> symbols_;  ///< by begin
};

}  // namespace sframe_gen::elf
