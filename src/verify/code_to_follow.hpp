#pragma once

#include <vector>

#include "elf/image.hpp"
#include "sframe_gen/section.hpp"
#include "verify/coverage.hpp"

namespace sframe_gen::verify {

/// Where section headers do not name the stubs: what has rows though no FDE describes it (`described`, merged), of a
/// compact section but for the padding that it goes on over; rows that repeat; and what is small and next to those, the
/// header for one. What it does is for the instructions to say. No more than a megabyte, as following them takes thirty
/// times their size in memory. Nothing for a file with section headers.
std::vector<PcRange> code_to_follow(const sframe::Section& section, const elf::Image& image,
                                    const std::vector<PcRange>& described);

}  // namespace sframe_gen::verify
