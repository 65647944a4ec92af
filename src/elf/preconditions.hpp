#pragma once

#include "elf/image.hpp"

namespace sframe_gen::elf {

/// Refuses, by name, what the rewriter cannot do or cannot do safely, and bounds every number it will calculate with
/// (`largest_number`). Throws Refused or MalformedInput.
void check_preconditions(const Image& image);

/// Whether the kernel or a user starts programs through this file. Kernels in front of 6.7 cannot load an interpreter
/// that has a read-only PT_LOAD behind its .bss: they kept one end of file bytes for all segments and cleared from
/// there on, which faults in a read-only page.
bool is_dynamic_loader(const Image& image);

}  // namespace sframe_gen::elf
