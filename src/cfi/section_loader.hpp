#pragma once

#include <span>
#include <string>
#include <vector>

#include "cfi/frame_table.hpp"
#include "elf/image.hpp"

namespace sframe_gen::cfi {

/// One CFI section of a file, its bytes in memory.
struct LoadedSection {
  FrameSection kind;
  std::uint64_t address;
  Origin origin;
  std::vector<std::byte> storage;    ///< holds the bytes of a compressed section
  std::span<const std::byte> bytes;  ///< into the image or `storage`
};

/// .eh_frame (if it is loaded and has bytes), then .debug_frame (decompressed where needed).
std::vector<LoadedSection> load_frame_sections(const elf::Image& image);

}  // namespace sframe_gen::cfi
