#pragma once

#include "cli/options.hpp"

namespace sframe_gen::cli {

/// Runs the compiler command of `options` and converts the objects it made. Returns the command's exit status, or 1 if
/// an object is malformed or cannot be written; it is removed then, as a compiler that fails leaves none. An object
/// that cannot be converted for a stated reason (LTO's intermediate code, another machine) stays as the compiler made
/// it.
///
/// The command gets the signals as this process has them: what writing needs of them, `prepare_to_write` does
/// afterwards.
int launch(const Options& options, void (*prepare_to_write)());

}  // namespace sframe_gen::cli
