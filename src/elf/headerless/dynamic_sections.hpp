#pragma once

#include <vector>

#include "elf/image.hpp"

namespace sframe_gen::elf {

/// The dynamic linker's tables that PT_DYNAMIC names and whose size can be told, under the names that linkers give
/// them, as if the file had section headers: hash tables, symbols and their names and versions, relocations. Those that
/// lie outside the file are left out. Throws MalformedInput for a damaged PT_DYNAMIC.
std::vector<Section> dynamic_sections(const Image& image);

}  // namespace sframe_gen::elf
