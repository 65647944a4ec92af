#pragma once

#include <cstdint>
#include <vector>

#include "elf/image.hpp"
#include "elf/layout.hpp"

namespace sframe_gen::elf {

/// Whether a global or weak symbol of .symtab or .dynsym has its value inside `section`. Linkers' own symbols for
/// notes (__abi_tag) are local: code that refers to them does not exist outside of the C library's start files.
bool has_global_symbol_in(const Image& image, const Section& section);

/// Whether the dynamic linker computes a pointer into `section` (R_X86_64_RELATIVE, R_X86_64_IRELATIVE).
bool has_relative_relocation_to(const Image& image, const Section& section);

/// New bytes at an offset of the output.
struct Patch {
  std::uint64_t offset;
  std::vector<std::byte> bytes;
};

/// Section indices and addresses inside symbol tables, SHT_SYMTAB_SHNDX and SHT_GROUP, as `layout` renumbers and
/// moves them.
std::vector<Patch> fix_symbols(const Image& image, const Layout& layout);

}  // namespace sframe_gen::elf
