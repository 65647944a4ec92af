#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "cli/options.hpp"

namespace sframe_gen::cli {

/// Calls `work(i)` for each i below `weights.size()` in up to `jobs` threads, and `finish(i)` for each, in their order,
/// in this one. With one job both alternate, and nothing runs in another thread.
///
/// What is under way is bounded whatever `jobs` says: together it weighs at most `most_weight` (or is one heavy item
/// alone), and no item is started that is far ahead of the first that is not finished. `tick` is called now and then
/// while this thread waits. `work` must not throw.
void for_each_in_order(std::span<const std::uint64_t> weights, unsigned jobs, std::uint64_t most_weight,
                       const std::function<void(std::size_t)>& work, const std::function<void(std::size_t)>& finish,
                       const std::function<void()>& tick);

/// Does what the options ask for, file by file. Returns the exit status: 0, or as FileTotals::status() says.
int run(const Options& options);

/// Runs the compiler command of `options` and converts the objects it made. Returns the command's exit status, or 1 if
/// an object is malformed or cannot be written; it is removed then, as a compiler that fails leaves none. An object
/// that cannot be converted for a stated reason (LTO's intermediate code, another machine) stays as the compiler made
/// it.
///
/// The command gets the signals as this process has them: what writing needs of them, `prepare_to_write` does
/// afterwards.
int launch_command(const Options& options, void (*prepare_to_write)());

}  // namespace sframe_gen::cli
