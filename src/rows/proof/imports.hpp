#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "elf/image.hpp"
#include "rows/proof/decoder.hpp"
#include "support/hash.hpp"

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

}  // namespace sframe_gen::rows::proof
