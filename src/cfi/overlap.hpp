#pragma once

#include <span>
#include <vector>

#include "cfi/rules.hpp"

namespace sframe_gen::cfi {

/// Merges functions of which each overlaps another, sorted by start: rows they agree on stand, in normal form; PCs they
/// disagree on, be it on whether they are a signal frame or on the signing key, get UnknownReason::ConflictingFdes.
/// Gives one function from the lowest start to the highest end, or several, one after the other, where these marks
/// change or offsets would not fit. Time is linear in the rows, but for sorting.
std::vector<Function> merge_overlapping(std::span<const Function> functions, RuleTable& rules);

/// The part of the function in [begin, end), which is not empty and lies in it.
Function part_of(const Function& function, std::uint64_t begin, std::uint64_t end);

}  // namespace sframe_gen::cfi
