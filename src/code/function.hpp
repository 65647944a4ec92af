#pragma once

#include <cstdint>

#include "code/program.hpp"

namespace sframe_gen::code {

/// Follows every path of a function from its entry, and compares what is proved with CFI. Work is bounded by the size
/// of `own`: a path visits an instruction again only if it is known to hold less than before, and code outside of
/// `own` is followed as far as the bound allows.
FunctionProof prove_function(Program& program, std::uint64_t start, const Range& own);

}  // namespace sframe_gen::code
