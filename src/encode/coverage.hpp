#pragma once

#include <cstdint>
#include <string>

#include "elf/image.hpp"
#include "emit/split_functions.hpp"
#include "rows/stubs/recognize.hpp"
#include "sframe_gen/coverage.hpp"

namespace sframe_gen::encode {

/// Counts a function of `size` bytes and what became of it.
void count(std::uint64_t size, const emit::SplitFunction& split, Coverage& coverage);

/// Counts stubs that no FDE describes and what became of them. Where one does, `bytes_without_cfi` is too large by
/// that.
void count_stubs(const rows::stubs::StubRun& run, const emit::SplitFunction& split, Coverage& coverage);

/// Gives the holes the names of their functions and, in an object, of their sections.
void name_holes(Coverage& coverage, const elf::Image& image);

/// Why a file with FDEs gets no section: "has no function that SFrame could describe (2 FDEs of discarded or no code)".
std::string why_no_function(const Coverage& coverage);

}  // namespace sframe_gen::encode
