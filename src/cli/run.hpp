#pragma once

#include "cli/options.hpp"

namespace sframe_gen::cli {

/// Does what the options ask for, file by file. Returns the exit status: 0, or as Totals::status() says.
int run(const Options& options);

}  // namespace sframe_gen::cli
