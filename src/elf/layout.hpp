#pragma once

#include <cstdint>
#include <string>

#include "elf/image.hpp"

namespace sframe_gen::elf {

/// Where the new .sframe and its headers go: every decision of the rewrite, before a byte is written.
struct Layout {
  std::uint64_t section_address = 0;  ///< virtual address of .sframe
  std::uint64_t section_size = 0;     ///< bytes
};

/// Plans room for `section_size` bytes of .sframe. Throws Refused with the reason when no plan keeps the file sound.
Layout plan_layout(const Image& image, std::uint64_t section_size);

}  // namespace sframe_gen::elf
