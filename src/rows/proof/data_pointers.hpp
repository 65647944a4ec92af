#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "elf/image.hpp"
#include "rows/proof/decoder.hpp"
#include "support/hash.hpp"

/// What the data of a linked file leads to: functions by name, and places in code.
namespace sframe_gen::rows::proof {

/// A function that is called by name: through a slot which the dynamic linker fills in.
struct Import {
  std::string_view name;
  std::uint64_t address = 0;  ///< where this file defines it; 0: elsewhere
};

/// The names of slots, by the relocations of a linked file for x86-64.
class Imports {
 public:
  /// Both must outlive it.
  Imports(const elf::Image& image, const Decoder& decoder);

  /// The function whose slot is at `address`.
  std::optional<Import> of_slot(std::uint64_t address) const;
  /// The function that the stub of a PLT at `address` jumps to. A stub is one jump through a slot, maybe after endbr64.
  std::optional<Import> of_stub(std::uint64_t address) const;

 private:
  void read(const elf::Section& relocations);

  const elf::Image& image_;
  const Decoder& decoder_;
  SeededMap<std::uint64_t, Import> slots_;
};

/// Addresses in code that the data of a linked file for x86-64 holds: of functions, but of labels as well, which an
/// interpreter has tables of. Ascending, each once.
///
/// They are what relocations store that name no function: relative ones, packed or not, and those of a symbol with an
/// addend. A program at fixed addresses has none; there it is the words of data that can be written. Words of
/// constants do not count: most that look like code are entries of jump tables, and numbers.
/// Throws Refused for tables that are together larger than the file, as they share bytes; MalformedInput.
std::vector<std::uint64_t> code_addresses_in_data(const elf::Image& image);

}  // namespace sframe_gen::rows::proof
