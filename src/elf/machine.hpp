#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>

#include "elf/image.hpp"
#include "sframe_gen/format.hpp"

namespace sframe_gen::elf {

/// "EM_RISCV (243)"; the number alone where the program does not know the name.
std::string machine_name(std::uint16_t machine);

/// "section .text", or "section 12" where it has no name.
std::string describe(const Section& section);

/// "PT_NOTE", or the type's number.
std::string segment_type_name(std::uint32_t type);

/// What stands somewhere: a thing that has this name, a section, or a segment of this type.
using Owner = std::variant<const char*, const Section*, std::uint32_t>;
std::string describe(const Owner& owner);

/// What rewriting a file has to know of its processor. SFrame has an ABI for each (SFrame V3, section 3.1), in 64-bit
/// ELF files only.
struct Machine {
  sframe::Abi abi;
  std::uint16_t number;  ///< e_machine
  Endian endian;
  /// Bytes of the largest page that a kernel for it may use: PT_LOADs must not share one.
  std::uint64_t largest_page;
  /// Relocations that store base + addend: the dynamic linker's pointers into the file itself.
  std::span<const std::uint32_t> pointer_relocations;
  std::uint64_t hash_word = 4;        ///< bytes of a word of DT_HASH (gABI, chapter 5; the psABIs may differ)
  bool pads_object_sections = false;  ///< GNU as fills every section up to its alignment
};

/// Null where SFrame has no ABI for the file's machine in its byte order.
const Machine* find_machine(const Image& image);

/// As above; throws Refused, which names the machine.
const Machine& machine_of(const Image& image);

/// What addresses of PT_LOADs and their file offsets have to agree in, and what two PT_LOADs must not share, in bytes:
/// the machine's largest page or, if larger, the largest p_align. A file whose PT_LOADs share such pages already was
/// linked for smaller ones; there its own p_align counts, but at least 0x1000.
std::uint64_t layout_page(const Image& image);

/// The largest p_align of the PT_LOADs, at least 0x1000. A new PT_LOAD gets the same, as one that asks for more would
/// change where all of them are mapped.
std::uint64_t load_alignment(const Image& image);

}  // namespace sframe_gen::elf
