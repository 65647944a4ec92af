#pragma once

#include <cstddef>

namespace sframe_gen {

/// How many processors the caller may run on, at least 1: of the machine's, those that taskset or a cpuset leaves it.
std::size_t usable_processors();

}  // namespace sframe_gen
