#pragma once

#include <vector>

#include "elf/image.hpp"
#include "sframe_gen/section.hpp"

namespace sframe_gen::verify {

/// .sframe, then .ctf_frame: one of them, or both. Throws Refused where there is neither, MalformedInput for a damaged
/// one and one for another machine than the file's.
std::vector<FileSection> read_file_sections(const elf::Image& image);
/// The same for people to look at: what does not hinder reading becomes a remark.
std::vector<FileSection> look_at_file_sections(const elf::Image& image);

}  // namespace sframe_gen::verify
