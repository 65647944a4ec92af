#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace sframe_gen::trace {

/// What makes the kernel take a sample.
struct EventKind {
  std::string name;  ///< as it was asked for: "cycles:u"
  std::uint32_t type = 0;
  std::uint64_t config = 0;
  std::filesystem::path folder{};         ///< of a tracepoint: where the kernel describes it
  bool in_user = true, in_kernel = true;  ///< the modes in which it counts

  bool is_tracepoint() const;
};

/// Returns the event of a name as `perf list` has it: of a counter, of the kernel's software, a tracepoint
/// ("sched:sched_switch") or a raw number ("r1a8"); ":u" or ":k" after it restricts it to that mode. Throws UsageError.
EventKind event_named(const std::string& name);

}  // namespace sframe_gen::trace
