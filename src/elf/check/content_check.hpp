#pragma once

#include <cstdint>
#include <vector>

#include "elf/check/layout_check.hpp"
#include "elf/image.hpp"

namespace sframe_gen::elf {

/// The part of `check_layout` that looks at sections.
void check_sections(const Image& input, const Image& output, Contents contents, const NewSection& added);

/// The tags in PT_DYNAMIC that point to a section of this type; empty if none does.
std::vector<std::int64_t> pointers_to(const Section& section);

}  // namespace sframe_gen::elf
