#pragma once

#include <cstdint>
#include <vector>

#include "elf/image.hpp"

namespace sframe_gen::rows::proof {

/// Addresses in code that the data of a linked file for x86-64 holds: of functions, but of labels as well, which an
/// interpreter has tables of. Ascending, each once.
///
/// They are what relocations store that name no function: relative ones, packed or not, and those of a symbol with an
/// addend. A program at fixed addresses has none; there it is the words of data that can be written. Words of
/// constants do not count: most that look like code are entries of jump tables, and numbers.
/// Throws Refused for tables that are together larger than the file, as they share bytes; MalformedInput.
std::vector<std::uint64_t> code_addresses_in_data(const elf::Image& image);

}  // namespace sframe_gen::rows::proof
