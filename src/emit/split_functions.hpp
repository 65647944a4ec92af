#pragma once

#include <vector>

#include "cfi/rules.hpp"
#include "emit/rule_table.hpp"
#include "sframe_gen/coverage.hpp"

namespace sframe_gen::emit {

/// What becomes of one function: descriptors for the PCs that SFrame can describe, holes for the rest. Together they
/// cover the function exactly.
struct SplitFunction {
  std::vector<NumberedFde> fdes;
  std::vector<Hole> holes;
};

/// Splits a function around rows without a form, around PLT entries, and where a descriptor's counts would overflow.
/// `rules` have those of the function. `result` is another function's before, whose memory is used again.
void split_function(const cfi::Function& function, RuleTable& rules, SplitFunction& result);

}  // namespace sframe_gen::emit
