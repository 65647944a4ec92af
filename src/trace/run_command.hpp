#pragma once

#include "trace/options.hpp"

namespace sframe_gen::trace {

/// Becomes options.command, and has a process beside it write the stacks of its threads to standard error when a signal
/// ends it and when SIGQUIT asks for them. Comes back, with an exit status, only if the command cannot be traced or
/// run.
int run_command(const Options& options);

}  // namespace sframe_gen::trace
