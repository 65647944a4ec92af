#pragma once

#include <span>
#include <vector>

#include "cfi/frame_index.hpp"
#include "elf/image.hpp"
#include "object/relocations.hpp"

namespace sframe_gen::cfi {

/// One CFI section of a file, its bytes in memory.
struct LoadedSection {
  FrameSection kind;
  std::uint64_t address;
  Origin origin;
  std::vector<std::byte> storage;    ///< holds the bytes of a compressed or relocated section
  std::span<const std::byte> bytes;  ///< into the image or `storage`
  /// Of an object: its relocations against code.
  std::vector<object::CodeReference> code_references;
  std::vector<object::UnknownRelocation> unknown_relocations;  ///< and those of no known type
};

/// .eh_frame (if it is loaded and has bytes), then .debug_frame or .zdebug_frame (decompressed where needed). Of an
/// object all sections of these names, which groups may have given it, relocated.
std::vector<LoadedSection> load_frame_sections(const elf::Image& image);

}  // namespace sframe_gen::cfi
