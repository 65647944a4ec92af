#pragma once

#include <cstddef>
#include <vector>

#include "trace/record/event_kind.hpp"

namespace sframe_gen::trace::record {

/// Returns what perf records of the tracepoints among `kinds` (HEADER_TRACING_DATA of its util/header.h): how the
/// kernel describes their fields. perf reads no recording of a tracepoint without. Empty: there is no tracepoint.
std::vector<std::byte> described_tracepoints(const std::vector<EventKind>& kinds);

}  // namespace sframe_gen::trace::record
