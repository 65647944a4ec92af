#pragma once

#include <string_view>
#include <vector>

#include "cfi/frame_source.hpp"
#include "elf/image.hpp"

/// What a proof needs beside the instructions.
namespace sframe_gen::rows::proof {

/// Throws Refused, which names the option that asks, unless the file is linked and for x86-64.
void check_supported(const elf::Image& image, std::string_view option);

/// The functions of a file as a conversion reads them, all at once: a proof follows calls from one to any other.
std::vector<cfi::Function> described_functions(const cfi::FrameSource& source, cfi::RuleTable& rules);

}  // namespace sframe_gen::rows::proof
