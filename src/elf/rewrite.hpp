#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "elf/image.hpp"
#include "elf/layout.hpp"

namespace sframe_gen::elf {

/// Writes `image` with `section_bytes` as its .sframe, placed as `layout` says, to `output`.
///
/// The bytes go to a temporary file beside `output`, which takes over mode, owner and extended attributes of the
/// file it replaces (of the input, where `output` is new), is checked against the invariants of layout_check.hpp and
/// only then renamed over it. `output` may be the input itself; a symbolic link is followed to the file it names.
/// Throws Refused or SystemFailure: then `output` is as it was and no temporary file is left.
void rewrite(const Image& image, const Layout& layout, std::span<const std::byte> section_bytes,
             const std::filesystem::path& output);

}  // namespace sframe_gen::elf
