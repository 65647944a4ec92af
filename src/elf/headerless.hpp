#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "elf/image.hpp"

namespace sframe_gen::elf {

struct EhFramePlace {
  std::uint64_t address;
  std::uint64_t size;  ///< bytes, with the terminator if there is one; all of them are in the file
};

/// Finds .eh_frame as unwinders do, through PT_GNU_EH_FRAME (LSB 5.0, section 10.6.2). Nothing where that is missing.
///
/// The header says where .eh_frame begins, but not where it ends. That is at its terminator, if every record up to it
/// is a CIE, or an FDE of a CIE before it. Where there is none (a program without crtend.o), other sections follow, and
/// their bytes look like no records: then at the end of the last FDE in the header's search table; without one, at the
/// end of the segment's bytes. Throws MalformedInput for a header that cannot be believed.
std::optional<EhFramePlace> find_eh_frame(const Image& image);

/// The section headers that a program or library without any would have, as far as program headers and PT_DYNAMIC tell:
/// .interp, notes, .eh_frame_hdr and .eh_frame, .dynamic and the tables that it names, .sframe. What is left of each
/// PT_LOAD becomes sections of unknown contents, so that every loaded byte belongs to a section, and no zero is taken
/// for free space. Only padding in front of a section that is aligned belongs to none. Last comes the record that
/// sframe-gen left at the end of the file.
///
/// Sections are sorted by their offset in the file; those of damaged headers are left out. Throws nothing but what runs
/// out of memory: what a conversion needs and cannot believe is named by the preconditions.
std::vector<Section> reconstruct_sections(const Image& image);

}  // namespace sframe_gen::elf
