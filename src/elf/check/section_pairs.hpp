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

}  // namespace sframe_gen::elf
