#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sframe_gen::trace::recorded {

/// Which samples of a recording are shown. Each condition that is empty holds for all.
struct SampleChoice {
  std::vector<int> processes, threads;
  std::vector<std::string> names;   ///< of threads, whole
  std::string event;                ///< by name, with modifiers or without
  std::vector<std::size_t> events;  ///< that have this name, by number
  /// ns, both included.
  std::uint64_t begin = 0, end = std::numeric_limits<std::uint64_t>::max();

  bool has(int process, int thread, std::string_view name, std::uint64_t time) const;
  bool has_event(std::size_t number) const;
  bool has_all() const;
};

/// Returns the ns of "12.5,13", whose halves are seconds and may be empty, as perf-script(1) has it. An end of at most
/// six decimals holds for its whole microsecond. None: it is no such time, or its end is before its begin.
std::optional<std::pair<std::uint64_t, std::uint64_t>> read_time_range(std::string_view text);

}  // namespace sframe_gen::trace::recorded
