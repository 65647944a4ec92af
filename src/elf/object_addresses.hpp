#pragma once

#include <string>
#include <vector>

#include "elf/image.hpp"

namespace sframe_gen::elf {

/// Gives each loaded section of a relocatable object an address that no other shares, as if it was linked alone, so
/// that an address names a place in its code. No two sections touch: the end of one is not the start of another. Code
/// comes first, then the tables that refer to it: data of any size between .eh_frame and the code would take the one
/// out of the other's 32-bit reach; then data, and last what has no bytes in the file. Sections that are not loaded get
/// address 0, by which relocations against .debug_* count. The same flags, sizes and order give the same addresses, so
/// an object and its separate debug file agree. Throws MalformedInput where the sizes do not fit in the address space.
void assign_addresses(std::vector<Section>& sections, const std::string& name);

}  // namespace sframe_gen::elf
