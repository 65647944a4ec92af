#pragma once

#include <cstdint>

#include "elf/image.hpp"

/// Signatures of kernel modules: after the ELF file, where no header describes them, stand the signature, a struct
/// module_signature and a marker (include/linux/module_signature.h).
namespace sframe_gen::elf {

/// Whether the file ends with the marker.
bool has_module_signature(const Image& image);

/// Throws Refused where a file that ends with the marker has something else than one signature, as the kernel takes it,
/// from `described_end` on, where ends what its headers describe: dropping the signature would drop that as well.
void check_only_signature_appended(const Image& image, std::uint64_t described_end);

}  // namespace sframe_gen::elf
