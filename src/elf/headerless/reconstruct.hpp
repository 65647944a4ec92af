#pragma once

#include <vector>

#include "elf/image.hpp"

namespace sframe_gen::elf {

/// The section headers that a program or library without any would have, as far as program headers and PT_DYNAMIC tell:
/// .interp, notes, .eh_frame_hdr and .eh_frame, .dynamic and the tables that it names, .sframe. What is left of each
/// PT_LOAD becomes sections of unknown contents, so that every loaded byte belongs to a section, and nobody takes a
/// zero for free space. Only padding in front of a section that is aligned belongs to none. Last comes the record that
/// sframe-gen left at the end of the file.
///
/// Sections are sorted by their offset in the file; those of damaged headers are left out. Throws nothing but what runs
/// out of memory: what a conversion needs and cannot believe is named by the preconditions.
std::vector<Section> reconstruct_sections(const Image& image);

}  // namespace sframe_gen::elf
