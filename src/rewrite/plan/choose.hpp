#pragma once

#include <cstdint>
#include <vector>

#include "elf/image.hpp"
#include "elf/new_section.hpp"
#include "rewrite/plan/layout.hpp"
#include "rewrite/plan/plans.hpp"
#include "sframe_gen/layout_plans.hpp"

/// The steps, in the order of the work:
///
///     plans      what may be tried, and what it costs
///     place      finds room under one plan; placement is what it found
///     lay_out    makes every decision of the rewrite of that; layout has them, as a value
///     choose     the cheapest plan that works becomes the layout
namespace sframe_gen::rewrite {

/// Plans room for `section_size` bytes of `section`: of the plans that keep the file sound, the cheapest (plans.hpp).
/// Throws Refused with the reason when there is none. With `tried` all plans are worked out, and told there even then;
/// without, only as many as it takes.
Layout plan_layout(const elf::Image& image, std::uint64_t section_size,
                   const elf::NewSection& section = elf::sframe_section, HeaderMoves moves = HeaderMoves::Never,
                   std::vector<TriedPlan>* tried = nullptr);

}  // namespace sframe_gen::rewrite
