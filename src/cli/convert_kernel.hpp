#pragma once

#include <filesystem>
#include <vector>

#include "cli/options.hpp"
#include "cli/report.hpp"
#include "elf/image.hpp"
#include "elf/plan/layout.hpp"

namespace sframe_gen::cli {

/// Fills the room that the linker script of a Linux kernel (elf/kernel_image.hpp) has reserved for the section, and
/// changes nothing else. Throws Failure, with how much room it takes where there is none or not enough; `output` is
/// then as it was.
Report convert_kernel(const Options& options, const elf::Image& kernel, const std::filesystem::path& output,
                      std::vector<elf::Trial>& trials);

}  // namespace sframe_gen::cli
