#pragma once

#include <vector>

#include "cfi/rules.hpp"
#include "emit/encoded_rules.hpp"
#include "sframe_gen/reasons.hpp"

namespace sframe_gen::emit {

/// What becomes of one function: descriptors for the PCs that SFrame can describe, holes for the rest. Together they
/// cover the function exactly.
struct SplitFunction {
  std::vector<FdeRows> fdes;
  std::vector<CoverageHole> holes;
};

/// Splits a function around rows that SFrame cannot represent, around PLT entries, and where a descriptor's counts
/// would overflow. What it can represent is at most 4 GiB from its start. `translations` are those of its rules.
/// `result` is another function's before, whose memory is used again.
void split_function(const cfi::Function& function, RuleTranslations& translations, SplitFunction& result);

}  // namespace sframe_gen::emit
