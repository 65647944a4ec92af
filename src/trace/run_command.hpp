#pragma once

#include "trace/options.hpp"

namespace sframe_gen::trace {

/// Runs options.command, and writes the stacks of its threads to standard error when a signal ends it and when SIGQUIT
/// asks for them. What is returned is its exit status, as a shell has it.
int run_command(const Options& options);

}  // namespace sframe_gen::trace
