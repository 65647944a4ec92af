#pragma once

#include "elf/check/section_pairs.hpp"

namespace sframe_gen::elf {

/// The part of `check_layout` that looks at where sections and their headers stand beside each other: nothing overlaps
/// that did not before, and headers stay sorted by address. Throws LayoutViolation.
void check_section_order(const Image& input, const Image& output, const SectionPairs& pairs);

}  // namespace sframe_gen::elf
