#pragma once

#include <cstddef>
#include <vector>

#include "elf/image.hpp"
#include "sframe_gen/convert.hpp"

namespace sframe_gen::fuzz {

// Both throw Failure, also if the checker finds a broken rule.

/// Returns the file with a section of `section_size` zeros.
std::vector<std::byte> with_empty_section(const elf::Image& image, std::uint64_t section_size);

/// The file with the section that options ask for.
struct Converted {
  std::vector<std::byte> bytes;
  bool contradicts;  ///< instructions of stubs say other rows than the call frame information, which is then wrong
};
Converted converted(const elf::Image& image, const ConvertOptions& options);

}  // namespace sframe_gen::fuzz
