#pragma once

#include <functional>
#include <span>
#include <vector>

#include "elf/alignment.hpp"
#include "elf/edit/file_image.hpp"
#include "elf/image.hpp"

namespace sframe_gen::elf {

/// The bytes of an output that is not written yet. `range` may reach beyond its end, where all is zero.
std::vector<std::byte> output_bytes(const Image& input, const FileImage& contents, FileRange range);
/// The same in pieces, in order; a patch's where they are.
void visit_output_bytes(const Image& input, const FileImage& contents, FileRange range,
                        const std::function<void(std::span<const std::byte>)>& visit);

}  // namespace sframe_gen::elf
