#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "elf/image.hpp"
#include "files/regions.hpp"
#include "rewrite/plan/layout.hpp"

namespace sframe_gen::rewrite {

/// Checks whether sections of this type hold indices of other sections: symbol tables, SHT_SYMTAB_SHNDX and SHT_GROUP.
bool has_section_indices(std::uint32_t section_type);

/// Renumbers sections in the bytes of one such table: `index_of` has the new index by the old one. Others stay.
void renumber_sections(std::span<std::byte> table, std::uint32_t section_type, Endian endian,
                       const std::vector<std::uint32_t>& index_of);

/// Returns where the output has bytes of the input; the rest is holes.
files::Regions copied_input(const Layout& layout);

/// Returns the output without the bytes of the new section, in whose place there is a hole, and without what gives the
/// input back (undo/undo.hpp).
files::Regions contents_of(const elf::Image& image, const Layout& layout);

}  // namespace sframe_gen::rewrite
