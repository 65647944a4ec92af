#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "cfi/rules.hpp"
#include "elf/image.hpp"
#include "rows/proof/program.hpp"
#include "sframe_gen/contradictions.hpp"

/// A comparison of CFI with code, and how a disagreement reads in reports.
namespace sframe_gen::rows::proof {

/// What CFI says: "CFA rsp+8", "FP at CFA-16".
std::string words_of(const cfi::Rules& rules, const Disagreement& found);

/// What the code does: "CFA is rsp+24", "no FP at CFA-16".
std::string words_of(const Disagreement& found);

/// Proves the functions of a linked file, and compares their CFI with each proved state.
CodeCheck check_cfi(const elf::Image& image, const std::function<void(std::uint64_t, std::uint64_t)>& progress,
                    const ProofOptions& options = {});

}  // namespace sframe_gen::rows::proof
