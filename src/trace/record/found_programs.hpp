#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "trace/record/ring.hpp"

/// Records of what was there before the recording began, as perf writes them.
namespace sframe_gen::trace {

/// Where the kernel's own functions are, as far as it tells this user.
void describe_kernel(const TakeRecord& take);
/// A process: its threads, their names and its mappings of code. One that ends meanwhile is left out.
void describe_process(int process, const TakeRecord& take);

/// The processes of the machine, ascending.
std::vector<int> running_processes();
/// The threads of a process, ascending; none: it has ended.
std::vector<int> running_threads(int process);

}  // namespace sframe_gen::trace
