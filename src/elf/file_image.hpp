#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "elf/image.hpp"
#include "elf/layout.hpp"
#include "elf/symbols.hpp"

namespace sframe_gen::elf {

struct Copy {
  std::uint64_t from;
  std::uint64_t to;
  std::uint64_t size;
};

/// The output as ranges of the input and patches over them; what neither names is zero. A large file costs little
/// more than the copy that the kernel makes, and next to no memory.
struct FileImage {
  std::uint64_t size = 0;
  std::vector<Copy> copies;
  std::vector<Patch> patches;
};

FileImage build_file_image(const Image& image, const Layout& layout, std::span<const std::byte> section_bytes);

/// Fills the empty file `output`; `name` is for messages. Throws SystemFailure.
void write_file_image(const FileImage& contents, int input, int output, const std::string& name);

}  // namespace sframe_gen::elf
