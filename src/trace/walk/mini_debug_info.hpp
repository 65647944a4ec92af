#pragma once

#include <cstddef>
#include <vector>

#include "elf/image.hpp"

namespace sframe_gen::trace::walk {

/// Returns the ELF file that is compressed in a stripped file's section .gnu_debugdata ("MiniDebugInfo" of Fedora),
/// with the symbols of functions that .dynsym lacks. Empty: there is none, it is damaged, or it is more than 64 times
/// the size of the section and more than 16 MiB.
std::vector<std::byte> mini_debug_info(const elf::Image& image);

}  // namespace sframe_gen::trace::walk
