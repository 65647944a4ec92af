#pragma once

#include "elf/image.hpp"
#include "elf/new_section.hpp"
#include "rewrite/plan/layout.hpp"

namespace sframe_gen::rewrite {

/// Plans `image` without its section `removed`, the program header that leads to it, and the undo record. All other
/// bytes stay at their offsets and addresses; the section's become zeros. A PT_LOAD that ends with the section ends
/// before it, or becomes PT_NULL if it held nothing else: GNU strip makes of a PT_LOAD without sections one that glibc
/// refuses to load. Throws Refused if there is no such section, or something refers to it.
Layout plan_removal(const elf::Image& image, const elf::NewSection& removed);

}  // namespace sframe_gen::rewrite
