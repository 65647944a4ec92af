#pragma once

#include "elf/image.hpp"

/// Who would notice that a section got another address. Symbols may be stripped, so code and data are searched as well:
/// that may find a reference where there is none, but not miss one of the usual forms.
namespace sframe_gen::elf {

/// Whether a symbol of .symtab or .dynsym has its value inside `section`: local ones as well, since a linker script's
/// hidden symbol is local in the file. crt1.o's own name for its note does not count, nor do section and file symbols.
bool has_named_symbol_in(const Image& image, const Section& section);

/// Whether an entry of `symbol_table` is the one whose address tells a library from others (__dso_handle). Nobody reads
/// what stands there; mold puts it at the first section where crtbegin.o has not defined it.
bool is_library_mark(const Image& image, const Section& symbol_table, const Elf64_Sym& symbol);

/// Whether the dynamic linker computes a pointer into `section` (Machine::pointer_relocations, SHT_RELR).
bool has_relative_relocation_to(const Image& image, const Section& section);

/// Whether an instruction may address `section` by its distance; in files with fixed addresses, whether the section's
/// address stands in code or data.
bool has_direct_reference_to(const Image& image, const Section& section);

}  // namespace sframe_gen::elf
