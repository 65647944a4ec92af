#pragma once

#include <cstdint>
#include <vector>

#include "elf/image.hpp"
#include "elf/new_section.hpp"

namespace sframe_gen::elf {

/// Index in the output, by index in the input; those of the added sections are of no use.
using SectionPairs = std::vector<std::uint32_t>;

/// The output has the input's sections and `added`, with its record for undoing. What did not move stands in the same
/// order, so walking both tables finds the pairs; what moved is found by its name. Throws LayoutViolation where a
/// section is missing or new.
SectionPairs pair_sections(const Image& input, const Image& output, const NewSection& added);

/// The part of `check_sections` that looks at addresses: what the output has that the input had not there (more program
/// headers, the added section, what moved) lies in memory over no section. .bss has no bytes in the file to compare.
void check_section_addresses(const Image& input, const Image& output, const SectionPairs& pairs,
                             const NewSection& added);

/// The part of `check_layout` that looks at where sections and their headers stand beside each other: nothing overlaps
/// that did not before, and headers stay sorted by address. Throws LayoutViolation.
void check_section_order(const Image& input, const Image& output, const SectionPairs& pairs);

}  // namespace sframe_gen::elf
