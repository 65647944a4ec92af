#pragma once

#include <cstdint>

namespace sframe_gen::files {

/// A place in an open file.
struct FilePlace {
  int descriptor;
  std::uint64_t offset;
};

/// Whether `size` bytes are the same at both. Looks at what is stored only, so that holes cost nothing, and has little
/// of it in memory at a time. Bytes that cannot be read are not the same.
bool have_same_bytes(FilePlace a, FilePlace b, std::uint64_t size);

}  // namespace sframe_gen::files
