#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "support/range.hpp"

namespace sframe_gen::files {

/// Finds the first bytes in [from, to) of an open file that are stored on its disk. What is between `from` and them is
/// a hole, and reads as zeros. begin = end = to: there are none. File systems without holes store all.
Range next_stored(int descriptor, std::uint64_t from, std::uint64_t to);

/// Reads bytes of an open file from `from` on, at most as many as `buffer` holds, and returns the part of it that it
/// filled. None: there are none (then errno is 0), or they cannot be read, as errno says.
std::span<const std::byte> read_piece(int descriptor, std::uint64_t from, std::span<std::byte> buffer);

/// A place in an open file.
struct FilePlace {
  int descriptor;
  std::uint64_t offset;
};

/// Checks whether `size` bytes are the same at both. Reads only what is stored, so that holes cost nothing, and keeps
/// little of it in memory. Bytes that cannot be read are not the same.
bool have_same_bytes(FilePlace a, FilePlace b, std::uint64_t size);

}  // namespace sframe_gen::files
