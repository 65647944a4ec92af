#pragma once

#include "elf/image.hpp"
#include "elf/plan/layout.hpp"
#include "sframe_gen/convert.hpp"

namespace sframe_gen::convert {

/// Those that the caller allows.
elf::HeaderMoves header_moves(const ConvertOptions& options);

/// elf::plan_layout, of which the observer hears.
elf::Layout plan_layout(const elf::Image& image, std::uint64_t section_size, const elf::NewSection& added,
                        elf::HeaderMoves moves, const Observer& observer);

}  // namespace sframe_gen::convert
