#pragma once

#include <filesystem>

#include "elf/image.hpp"
#include "sframe_gen/convert_options.hpp"
#include "sframe_gen/outcomes.hpp"

namespace sframe_gen::convert {

/// Fills the room that the linker script of a Linux kernel (elf/kernel_files.hpp) has reserved for the section, and
/// changes nothing else. Throws Failure, which says how much room it takes if there is too little; `output` is then
/// as it was.
KernelOutcome convert_kernel(const elf::Image& kernel, const std::filesystem::path& output,
                             const ConvertOptions& options, const WorkObserver& observer);

}  // namespace sframe_gen::convert
