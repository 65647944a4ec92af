#pragma once

#include "cfi/frame_table.hpp"

namespace sframe_gen::cfi {

/// Walks the records of .eh_frame or .debug_frame and gives their CIEs and FDEs. Whatever a reader relies on is checked
/// on the way: each length fits, each FDE names a CIE of this section, CIE versions and augmentations are known, the
/// fixed fields fit. An FDE of which that does not hold, or whose CIE cannot be read, is named as unreadable. .eh_frame
/// ends at its terminator (a zero length), where there is one; in .debug_frame zero lengths are passed over, since Go
/// ends its own part with one, and a linker puts that of C behind.
///
/// `section_bytes` and what `origin` names must outlive the table. Throws MalformedInput with the place of the first
/// length that does not fit: nobody knows where the records behind it begin.
FrameTable index_frame_section(FrameSection kind, std::span<const std::byte> section_bytes,
                               std::uint64_t section_address, Endian endian, const Origin& origin);

}  // namespace sframe_gen::cfi
