#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "elf/image.hpp"
#include "elf/new_section.hpp"
#include "rewrite/check/section_check.hpp"
#include "sframe_gen/error.hpp"

namespace sframe_gen::rewrite {

/// Compares the output with the input, without knowing how the layout was made. Throws LayoutViolation, which names
/// the broken rule:
///
///   * the program headers stay at their file offset, or move into the last PT_LOAD, which is new; they lie inside a
///     PT_LOAD, in one page; a PT_PHDR says exactly where they are, and old kernels find them there; PT_PHDR and
///     PT_INTERP precede the PT_LOADs
///   * PT_LOADs ascend and share no page; address and file offset agree modulo the alignment; bytes lie in the file
///   * a program at fixed addresses may have new pages below its own, from 0x10000 on; then the ELF header that stays
///     in memory leads to the program headers, and a section covers it
///   * no address of the input changes but those of moved .interp, note and dynamic linker sections; a PT_GNU_PROPERTY
///     that leads to no note stays and still leads to none
///   * there is one .sframe and one PT_GNU_SFRAME (or what else was added); they agree; the section is aligned to 8,
///     read-only, in one PT_LOAD, outside PT_GNU_RELRO and PT_TLS, and over nothing else
///   * the program headers, the section and what moved share no address with another section, .bss included
///   * section bytes stay, apart from renumbered sections, moved symbols and pointers in .dynamic
///   * links between sections still name the same sections
///   * a file without section headers gets none; every loaded byte stays, at its address, but for what may move, which
///     overlaps with nothing
void check_layout(const elf::Image& input, const elf::Image& output, Contents contents,
                  const elf::NewSection& added = elf::sframe_section);

/// Compares a kernel with the input whose reserved `section` was filled with `bytes`: the rest of the section is zero,
/// and no other byte changed. Throws LayoutViolation.
void check_filled(const elf::Image& input, const elf::Section& section, std::span<const std::byte> bytes,
                  const elf::Image& output);

}  // namespace sframe_gen::rewrite
