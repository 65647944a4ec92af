#pragma once

#include "elf/image.hpp"
#include "elf/new_section.hpp"

/// Linked Linux kernels, and the section that their linker script reserves.
namespace sframe_gen::elf {

/// Whether the file is a linked Linux kernel (vmlinux). It finds its tables by symbols of its linker script, and boot
/// loaders get its segments as one flat image: a section with a segment of its own would not be found, and the hole
/// before it would make the image larger.
///
/// The rule: ET_EXEC, or ET_DYN as arm64's is; none of PT_INTERP, PT_DYNAMIC and PT_TLS, one of which nearly every
/// program of user space has; and the loaded sections .init.text (code), __ex_table, and __param or one of the
/// __ksymtab. include/asm-generic/vmlinux.lds.h gives them these names on every machine; Debian's vmlinux of Linux 6.1
/// has them. No compiler makes any of them.
bool is_kernel(const Image& image);

/// Checks whether a linked file has relocations for the section (ld --emit-relocs, for tools that rearrange code): they
/// describe its old contents.
bool has_relocations(const Image& image, const Section& section);

/// The loaded section that the kernel's linker script reserved for `wanted`, or that holds one. Null where there is
/// none. Throws Refused, and names the reason, where there is one that cannot be filled: it is not in the file, not
/// aligned, has contents that are neither a section of this kind nor one byte over and over, or relocations of its own
/// (ld --emit-relocs), which would not fit the new contents.
const Section* find_reserved(const Image& kernel, const NewSection& wanted);

}  // namespace sframe_gen::elf
