#pragma once

#include <cstdint>
#include <vector>

#include "elf/image.hpp"
#include "elf/new_section.hpp"

namespace sframe_gen::rewrite {

/// Extent of the comparison of the sections' bytes.
enum class Contents : std::uint8_t {
  Affected,  ///< what moved, and small sections: costs next to nothing
  All,       ///< for tests
};

/// The part of `check_layout` that looks at sections: their headers, links, bytes and addresses, and that nothing
/// overlaps that did not before. Throws LayoutViolation.
void check_sections(const elf::Image& input, const elf::Image& output, Contents contents, const elf::NewSection& added);

/// Returns what becomes of the notes in a part of the file that moves by `distance`: most bytes stay as they are, but
/// in some notes a number counts from its own place.
std::vector<std::byte> moved_notes(const elf::Image& input, Range range, std::uint64_t distance);

/// Checks memory in place of sections, for files without section headers. Throws LayoutViolation.
void check_memory(const elf::Image& input, const elf::Image& output, const elf::NewSection& added);

}  // namespace sframe_gen::rewrite
