#pragma once

#include <cstdint>
#include <functional>

#include "elf/image.hpp"
#include "rows/proof/program.hpp"
#include "sframe_gen/contradictions.hpp"

namespace sframe_gen::rows::proof {

/// Proves the functions of a linked file, and compares their CFI with each proved state.
CodeCheck check_cfi(const elf::Image& image, const std::function<void(std::uint64_t, std::uint64_t)>& progress,
                    const ProofOptions& options = {});

}  // namespace sframe_gen::rows::proof
