#pragma once

#include <vector>

#include "elf/image.hpp"
#include "sframe_gen/section.hpp"

namespace sframe_gen::elf::object {

/// Reads .sframe, then .ctf_frame: one of them, or both. Throws Refused if there is neither, MalformedInput for a
/// damaged section and for another machine than the file's.
std::vector<FileSection> read_sframe_sections(const elf::Image& image);
/// Does the same for display: a fault that does not prevent reading becomes a remark.
std::vector<FileSection> read_with_remarks(const elf::Image& image);

}  // namespace sframe_gen::elf::object
