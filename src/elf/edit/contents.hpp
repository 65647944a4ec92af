#pragma once

#include <cstdint>

#include "elf/image.hpp"
#include "elf/plan/layout.hpp"
#include "files/regions.hpp"
#include "support/bytes.hpp"

namespace sframe_gen::elf {

/// Returns where the output has bytes of the input; the rest is holes.
files::Regions copied_input(const Layout& layout);

/// Returns the output without the bytes of the new section, in whose place there is a hole, and without what gives the
/// input back (undo/undo.hpp).
files::Regions contents_of(const Image& image, const Layout& layout);

/// Puts the bytes of the new section in their place.
void put_section(const Layout& layout, BytePieces section_bytes, files::Regions& contents);

}  // namespace sframe_gen::elf
