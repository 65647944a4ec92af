#pragma once

#include <memory>
#include <vector>

#include "cfi/frame_source.hpp"

namespace sframe_gen::encode {

/// Returns functions, or pieces of them, that are known by a proof of their instructions, and those of `others`, which
/// may be null: they share no PC. `pieces` are ascending and disjoint, and `rules` are theirs.
std::shared_ptr<const cfi::OtherFunctions> with_proved_pieces(std::shared_ptr<const cfi::OtherFunctions> others,
                                                              std::vector<cfi::Function> pieces,
                                                              std::unique_ptr<cfi::RuleTable> rules);

}  // namespace sframe_gen::encode
