#pragma once

#include <cstdint>

namespace sframe_gen::files {

/// Bytes [begin, end) of a file that are stored on its disk; what is in front of them is a hole, and reads as zeros.
struct StoredRange {
  std::uint64_t begin = 0, end = 0;
};

/// The first ones in [from, to) of an open file. begin = end = to: there are none. File systems without holes store
/// all.
StoredRange next_stored(int descriptor, std::uint64_t from, std::uint64_t to);

}  // namespace sframe_gen::files
