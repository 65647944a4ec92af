#pragma once

#include <string>

#include "elf/image.hpp"
#include "sframe/section.hpp"

namespace sframe_gen::verify {

/// The stack trace section of a file, decoded.
struct FileSection {
  std::string name;  ///< ".sframe", or ".ctf_frame" where that is all there is
  sframe::Section section;
};

/// Throws Refused where there is none, MalformedInput for a damaged one and one for another machine than the file's.
FileSection read_file_section(const elf::Image& image);

}  // namespace sframe_gen::verify
