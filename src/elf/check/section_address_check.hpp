#pragma once

#include "elf/check/section_pairs.hpp"
#include "elf/image.hpp"
#include "elf/new_section.hpp"

namespace sframe_gen::elf {

/// The part of `check_sections` that looks at addresses: what the output has that the input had not there (more program
/// headers, the added section, what moved) lies in memory over no section. .bss has no bytes in the file to compare.
void check_section_addresses(const Image& input, const Image& output, const SectionPairs& pairs,
                             const NewSection& added);

}  // namespace sframe_gen::elf
