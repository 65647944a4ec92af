#pragma once

#include <vector>

#include "cfi/frame_source.hpp"

namespace sframe_gen::cfi {

/// Merges functions whose PCs overlap, sorted by start, into one from the lowest start to the highest end: rows they
/// agree on stand, PCs they disagree on get UnknownReason::ConflictingFdes. PCs between are always described by one.
FunctionFrames merge_overlapping(const std::vector<FunctionFrames>& functions);

}  // namespace sframe_gen::cfi
