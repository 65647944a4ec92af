#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "elf/constants.hpp"
#include "support/endian.hpp"

namespace sframe_gen::elf {

/// Whether sections of this type hold indices of other sections: symbol tables, SHT_SYMTAB_SHNDX and SHT_GROUP.
bool has_section_indices(std::uint32_t section_type);

/// Takes the renumbering of the sections back in the bytes of one such table. `new_index_of`: by the index to be
/// restored. Indices that none of these became stay.
void restore_section_indices(std::span<std::byte> table, std::uint32_t section_type, Endian endian,
                             const std::vector<std::uint32_t>& new_index_of);

}  // namespace sframe_gen::elf
