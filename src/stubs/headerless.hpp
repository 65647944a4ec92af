#pragma once

#include "elf/image.hpp"
#include "sframe_gen/format.hpp"
#include "stubs/pattern.hpp"
#include "stubs/recognize.hpp"

namespace sframe_gen::stubs {

/// Adds the stubs of a file without section headers, as far as PT_DYNAMIC leads to them: the header that refers to
/// DT_PLTGOT's table and the entries behind it, up to the first that is not known; and, where a call goes by a second
/// stub, those that jump by a slot of DT_JMPREL. Nothing says where .plt.got, .iplt, .init and .fini are.
void find_without_section_headers(const elf::Image& image, const Surroundings& around, sframe::Abi abi, Found& found);

}  // namespace sframe_gen::stubs
