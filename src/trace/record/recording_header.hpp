#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "trace/perf/perf_data_writer.hpp"
#include "trace/record/event_kind.hpp"

namespace sframe_gen::trace::record {

/// Adds what perf says of a recording besides its records: the machine, the kernel and its build-id, the command line,
/// the names of the events, and the wall clock beside the clock of the records.
void describe_recording(perf::PerfDataWriter& writer, const std::vector<EventKind>& kinds,
                        const std::vector<perf::WrittenEvent>& events, const std::vector<std::string>& command_line);

/// Adds the times of the first and the last sample, by which perf takes a part of a recording (`--time 0%-50%`).
void describe_times(perf::PerfDataWriter& writer, std::uint64_t first_ns, std::uint64_t last_ns);

/// Returns what perf records of the tracepoints among `kinds` (HEADER_TRACING_DATA of its util/header.h): how the
/// kernel describes their fields. perf reads no recording of a tracepoint without. Empty: there is no tracepoint.
std::vector<std::byte> described_tracepoints(const std::vector<EventKind>& kinds);

}  // namespace sframe_gen::trace::record
