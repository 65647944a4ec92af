#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sframe_gen/error.hpp"
#include "support/endian.hpp"

namespace sframe_gen::trace::perf {

/// An event that has a name of its own, as `perf list` prints it.
struct KnownEvent {
  std::string_view name;
  std::uint32_t type = 0;    ///< of perf_event_attr
  std::uint64_t config = 0;  ///< of perf_event_attr
};
/// Of several names, the usual one comes first.
extern const std::span<const KnownEvent> known_events;

/// "cpu-clock", or "event 4:0x1a8" if it has no name of its own.
std::string event_name(std::uint32_t type, std::uint64_t config);

/// The names in HEADER_EVENT_DESC, in the order of the events: "cycles:u". Fit to be printed. None: it is damaged.
std::vector<std::string> recorded_event_names(std::span<const std::byte> feature, Endian endian);

/// "cycles" of "cycles:upp"; names of tracepoints have a colon of their own.
std::string_view without_modifiers(std::string_view name);

}  // namespace sframe_gen::trace::perf
