#pragma once

#include <string>

#include "cfi/rules.hpp"
#include "rows/proof/program.hpp"

/// How a disagreement reads in reports.
namespace sframe_gen::rows::proof {

/// What CFI says: "CFA rsp+8", "FP at CFA-16".
std::string words_of(const cfi::Rules& rules, const Disagreement& found);

/// What the code does: "CFA is rsp+24", "no FP at CFA-16".
std::string words_of(const Disagreement& found);

}  // namespace sframe_gen::rows::proof
