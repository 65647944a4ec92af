#pragma once

#include <filesystem>

#include "elf/image.hpp"
#include "elf/plan/layout.hpp"
#include "sframe_gen/convert.hpp"

namespace sframe_gen::convert {

/// Those that the caller allows.
elf::HeaderMoves header_moves(const ConvertOptions& options);

/// elf::plan_layout, of which the observer hears.
elf::Layout plan_layout(const elf::Image& image, std::uint64_t section_size, const elf::NewSection& added,
                        elf::HeaderMoves moves, const Observer& observer);

/// Fills the room that the linker script of a Linux kernel (elf/kernel_image.hpp) has reserved for the section, and
/// changes nothing else. Throws Failure, which says how much room it takes if there is too little; `output` is then
/// as it was.
Filled convert_kernel(const elf::Image& kernel, const std::filesystem::path& output, const ConvertOptions& options,
                      const Observer& observer);

/// The whole way of a program or library: read, lower, encode, place, write. What `opened` was made from by an earlier
/// conversion is converted again. Throws Failure; `output` is then as it was.
Linked convert_linked(const elf::Image& opened, const std::filesystem::path& output, const ConvertOptions& options,
                      const Observer& observer);

}  // namespace sframe_gen::convert
