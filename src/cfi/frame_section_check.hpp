#pragma once

#include "cfi/frame_table.hpp"

namespace sframe_gen::cfi {

/// Walks the records of .eh_frame or .debug_frame and checks what a reader must be able to rely on: each length
/// fits, each FDE names a CIE of this section, CIE versions and augmentations are known, the fixed fields fit.
/// Throws MalformedInput with the place of the first fault. Runs before libdwarf, which says of a damaged section
/// only that it is damaged, and not where.
///
/// Returns the number of bytes up to the terminator (a zero length), or the whole size when there is none.
std::uint64_t check_frame_section(FrameSection kind, std::span<const std::byte> bytes, Endian endian,
                                  const Origin& origin);

}  // namespace sframe_gen::cfi
