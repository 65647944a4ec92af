#pragma once

#include "elf/image.hpp"
#include "elf/new_section.hpp"

namespace sframe_gen::elf {

/// The part of `check_layout` for files without section headers. Throws LayoutViolation.
void check_memory(const Image& input, const Image& output, const NewSection& added);

}  // namespace sframe_gen::elf
