#pragma once

#include "elf/image.hpp"

/// Signatures of kernel modules: behind the ELF file, where no header describes them, stand the signature, a struct
/// module_signature and a marker (include/linux/module_signature.h).
namespace sframe_gen::elf {

/// Whether the file ends with the marker.
bool has_module_signature(const Image& image);

/// Throws Refused where a file that ends with the marker has something else than one signature, as the kernel takes it,
/// behind what its headers describe: whoever drops the signature would drop that as well.
void check_only_signature_appended(const Image& image);

}  // namespace sframe_gen::elf
