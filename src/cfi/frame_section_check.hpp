#pragma once

#include <unordered_map>
#include <vector>

#include "cfi/frame_table.hpp"

namespace sframe_gen::cfi {

/// What the walk has seen that libdwarf will not tell.
struct CheckedFrameSection {
  /// Bytes up to the terminator of .eh_frame (a zero length), or the whole size when there is none.
  std::uint64_t used = 0;
  /// Records of .debug_frame that a zero length follows, by offset, once for each. Go ends its own part with one, a
  /// linker puts that of C behind, and libdwarf would read no further.
  std::vector<std::uint64_t> before_zero;
  /// Places in the section of augmentation letters without data that some libdwarf does not know: 'B' and 'G' of
  /// aarch64, on which 20210528 gives up.
  std::vector<std::uint64_t> aarch64_letters;
  /// What the CIEs with such letters say, by offset in the section.
  struct Marks {
    bool signal_frame = false;
    bool b_key = false;
  };
  std::unordered_map<std::uint64_t, Marks> aarch64_cies;
};

/// Walks the records of .eh_frame or .debug_frame and checks what a reader must be able to rely on: each length
/// fits, each FDE names a CIE of this section, CIE versions and augmentations are known, the fixed fields fit.
/// Throws MalformedInput with the place of the first fault. Runs before libdwarf, which says of a damaged section
/// only that it is damaged, and not where.
///
CheckedFrameSection check_frame_section(FrameSection kind, std::span<const std::byte> bytes, Endian endian,
                                        const Origin& origin);

}  // namespace sframe_gen::cfi
