#pragma once

#include "elf/check/layout_check.hpp"
#include "elf/image.hpp"
#include "elf/new_section.hpp"

namespace sframe_gen::elf {

/// The part of `check_layout` that looks at sections: their headers, links, bytes and addresses, and that nothing
/// overlaps that did not before. Throws LayoutViolation.
void check_sections(const Image& input, const Image& output, Contents contents, const NewSection& added);

/// The same for files without section headers. Throws LayoutViolation.
void check_memory(const Image& input, const Image& output, const NewSection& added);

}  // namespace sframe_gen::elf
