#pragma once

#include "elf/image.hpp"

namespace sframe_gen::elf {

/// The part of `check_preconditions` that looks at section and program headers: each by itself, and whether they
/// contradict each other. Throws Refused or MalformedInput.
void check_headers(const Image& image);

/// Recent lld counts padding in the file size of PT_GNU_RELRO that may lie behind the end of the file.
bool has_file_bytes(const Elf64_Phdr& segment);

}  // namespace sframe_gen::elf
