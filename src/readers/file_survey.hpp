#pragma once

#include "elf/image.hpp"
#include "readers/fact.hpp"

namespace sframe_gen::readers {

/// What is found in the .sframe section `section` of a file, and around it. Throws Refused for a machine that SFrame
/// has no ABI for; whatever is wrong with the section itself is a finding.
Findings survey_file(const elf::Image& image, const elf::Section& section);

}  // namespace sframe_gen::readers
