#pragma once

#include "cli/options.hpp"

namespace sframe_gen::cli {

/// Does what the options ask for, file by file. Returns the exit status: 0, or 1 if any file failed or differed.
int run(const Options& options);

}  // namespace sframe_gen::cli
