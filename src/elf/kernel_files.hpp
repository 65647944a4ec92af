#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "elf/image.hpp"
#include "elf/new_section.hpp"

/// ELF files of the Linux kernel: itself, with the section that its linker script reserves; its modules, with their
/// signatures; and the part of it that is in each process.
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

/// Whether a kernel module is signed, so that it ends with the marker. After the ELF file, where no header describes
/// them, stand the signature, a struct module_signature and the marker (include/linux/module_signature.h).
bool has_module_signature(const Image& image);

/// Throws Refused where a file that ends with the marker has something else than one signature, as the kernel takes it,
/// from `described_end` on, where ends what its headers describe: dropping the signature would drop that as well.
void check_only_signature_appended(const Image& image, std::uint64_t described_end);

/// The kernel's part of this process: no file, but an ELF file in memory, section headers included. It is the same one
/// in all processes as long as the same kernel runs.
struct OwnVdso {
  std::uint64_t address = 0;         ///< 0: this process has none
  std::span<const std::byte> bytes;  ///< of the whole file; they stay as long as the process
};
OwnVdso own_vdso();

}  // namespace sframe_gen::elf
