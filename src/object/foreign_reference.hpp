#pragma once

#include <vector>

#include "elf/image.hpp"
#include "object/relocated_section.hpp"

namespace sframe_gen::object {

/// Gives references from the separate debug file of `object`, which has symbols of its own, symbols that `object` has:
/// that of the section, or else a local one in it or, in a kernel module, a global one. Throws Refused where there is
/// none.
void name_by_symbols_of(const elf::Image& object, std::vector<CodeReference>& references);

}  // namespace sframe_gen::object
