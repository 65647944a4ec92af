#pragma once

#include <string>
#include <vector>

#include "trace/perf/perf_data_writer.hpp"
#include "trace/record/event_kind.hpp"

namespace sframe_gen::trace {

/// Adds what perf says of a recording besides its records: the machine, the kernel and its build-id, the command line
/// and the names of the events.
void describe_recording(PerfDataWriter& writer, const std::vector<EventKind>& kinds,
                        const std::vector<WrittenEvent>& events, const std::vector<std::string>& command_line);

}  // namespace sframe_gen::trace
