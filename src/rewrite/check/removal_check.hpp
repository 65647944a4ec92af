#pragma once

#include "elf/image.hpp"
#include "elf/new_section.hpp"

namespace sframe_gen::rewrite {

/// Compares a file with the one that it was before `removed` was taken out, without knowing how that was planned.
/// Throws LayoutViolation, which names the broken rule:
///
///   * there is no such section, no program header that leads to it, and no undo record
///   * all other sections and program headers are there, in their order, and say the same as before; but a PT_LOAD may
///     end before the section, or be gone if it held nothing else
///   * every byte is what it was, but for these headers, the section, the record, and the numbers of sections
void check_removal(const elf::Image& input, const elf::Image& output, const elf::NewSection& removed);

}  // namespace sframe_gen::rewrite
