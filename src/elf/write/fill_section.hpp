#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

#include "elf/image.hpp"

namespace sframe_gen::elf {

/// Writes `image` to `output` with `bytes`, no more than `section` has, as the contents of `section`, zeros behind
/// them, and every other byte as it was. `output` is replaced as a Rewrite replaces it, after a check that just this is
/// so. Throws Refused, SystemFailure or LayoutViolation.
void fill_section(const Image& image, const Section& section, std::span<const std::byte> bytes,
                  const std::filesystem::path& output);

}  // namespace sframe_gen::elf
