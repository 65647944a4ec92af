#pragma once

#include <istream>
#include <vector>

#include "trace/walk/address_space.hpp"

namespace sframe_gen::trace {

/// The mappings of code in a file as /proc/PID/maps (proc_pid_maps(5)). Lines that are none are passed over.
std::vector<Mapping> executable_mappings(std::istream& maps);

/// Of a process; throws SystemFailure.
std::vector<Mapping> executable_mappings_of(int pid);

}  // namespace sframe_gen::trace
