#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace sframe_gen::trace::record {

/// What makes the kernel take a sample.
struct EventKind {
  std::string name;  ///< as it was asked for: "cycles:u"
  std::uint32_t type = 0;
  std::uint64_t config = 0;
  std::filesystem::path folder{};          ///< of a tracepoint: where the kernel describes it
  bool in_user = true, in_kernel = true;   ///< the modes in which it counts
  unsigned precision = 0;                  ///< precise_ip of perf_event_attr
  bool is_as_precise_as_possible = false;  ///< `precision` begins with the most, and less will do

  static constexpr unsigned most_precise = 3;

  bool is_tracepoint() const;
  /// Processor cycles, which not every machine counts.
  bool is_cycles() const;
  /// False: it is as low as it may be.
  bool lower_precision();
};

/// Returns the event of a name as `perf list` has it: of a counter, of a cache ("L1-dcache-load-misses"), of the
/// kernel's software, a tracepoint ("sched:sched_switch") or a raw number ("r1a8"). Letters may follow a colon: "u" or
/// "k" restricts it to that mode, each "p" makes it more precise, and "P" as precise as possible. Throws UsageError.
EventKind event_named(const std::string& name);

}  // namespace sframe_gen::trace::record
