#pragma once

#include "elf/image.hpp"
#include "elf/layout_check.hpp"

namespace sframe_gen::elf {

/// The part of `check_layout` that looks at sections.
void check_sections(const Image& input, const Image& output, Contents contents, const NewSection& added);

}  // namespace sframe_gen::elf
