#pragma once

#include <unordered_map>
#include <vector>

#include "cfi/frame_table.hpp"

namespace sframe_gen::verify {

/// What the walk has seen that libdwarf will not tell.
struct CheckedFrameSection {
  /// Bytes up to the terminator of .eh_frame (a zero length), or the whole size when there is none.
  std::uint64_t used = 0;
  /// Bytes [begin, end) that libdwarf must not see, to become DW_CFA_nop of the record before them, at `record`.
  /// Ascending. Zero lengths in .debug_frame: Go ends its own part with one, a linker puts that of C behind, and
  /// libdwarf would read no further. Records that cannot be read: it would read none.
  struct Taken {
    std::uint64_t record, begin, end;
  };
  std::vector<Taken> taken_in;
  /// Whether the section begins with such a record, which must be one of its own then.
  bool first_is_unreadable = false;
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

/// Walks the records of .eh_frame or .debug_frame as far as libdwarf must be helped: where they end, and what it would
/// stumble over. Throws MalformedInput for lengths that do not fit.
///
/// This is not the generator's reading (cfi/frame_index.hpp), and shares nothing with it: a second opinion is one's
/// own.
CheckedFrameSection check_frame_section(cfi::FrameSection kind, std::span<const std::byte> bytes, Endian endian,
                                        const Origin& origin);

}  // namespace sframe_gen::verify
