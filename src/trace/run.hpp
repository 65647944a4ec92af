#pragma once

#include <ostream>

#include "trace/options.hpp"

namespace sframe_gen::trace {

/// What the options ask for, written to `out`; messages go to standard error. Throws Failure. Returns the exit status.
int run(const Options& options, std::ostream& out);

}  // namespace sframe_gen::trace
