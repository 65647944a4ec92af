#pragma once

#include "cfi/rules.hpp"
#include "support/range.hpp"

namespace sframe_gen::encode {

/// The function without rows for the PCs that its instructions disprove: these get
/// UnknownReason::ContradictedByCode. Functions that repeat are not compared with code, and stay as they are.
cfi::Function without_disproved(const cfi::Function& function, const RangeSet& disproved, cfi::RuleTable& rules);

}  // namespace sframe_gen::encode
