#pragma once

#include <cstdint>
#include <vector>

#include "elf/image.hpp"
#include "elf/plan/layout.hpp"

namespace sframe_gen::elf {

/// New bytes at an offset of the output.
struct Patch {
  std::uint64_t offset;
  std::vector<std::byte> bytes;
};

/// Section indices and addresses inside symbol tables, SHT_SYMTAB_SHNDX and SHT_GROUP, as `layout` renumbers and
/// moves them.
std::vector<Patch> fix_symbols(const Image& image, const Layout& layout);

}  // namespace sframe_gen::elf
