#include "trace/record/event_kind.hpp"

#include <linux/perf_event.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <vector>

#include "command_line/options.hpp"
#include "support/text.hpp"

namespace sframe_gen::trace {

namespace {

using command_line::UsageError;

struct KnownEvent {
  std::string_view name;
  std::uint32_t type;
  std::uint64_t config;
};

constexpr KnownEvent known_events[]{
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
    {"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {"branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    {"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    {"bus-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES},
    {"ref-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES},
    {"cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK},
    {"task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
    {"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    {"minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN},
    {"major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ},
    {"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
    {"cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
};

/// "sched:sched_switch". False: there is none, or it is not for this user.
bool find_tracepoint(const std::string& name, EventKind& kind) {
  const auto is_plain = [](char letter) {
    return letter == '_' || letter == '-' || (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
           (letter >= 'A' && letter <= 'Z');
  };
  const auto colon = name.find(':');
  std::string path = name;
  if (colon == std::string::npos || std::ranges::count_if(name, is_plain) + 1 != std::ranges::ssize(name)) return false;
  path[colon] = '/';
  for (const char* const folder : {"/sys/kernel/tracing/events/", "/sys/kernel/debug/tracing/events/"}) {
    if (!(std::ifstream(folder + path + "/id") >> kind.config)) continue;
    kind.type = PERF_TYPE_TRACEPOINT;
    kind.folder = folder + path;
    return true;
  }
  return false;
}

}  // namespace

bool EventKind::is_tracepoint() const {
  return type == PERF_TYPE_TRACEPOINT;
}

EventKind event_named(const std::string& name) {
  EventKind kind{.name = name};
  std::string plain = name;
  if (plain.ends_with(":u") || plain.ends_with(":k")) {
    (plain.back() == 'u' ? kind.in_kernel : kind.in_user) = false;
    plain.resize(plain.size() - 2);
  }
  std::vector<std::string> names;
  for (const KnownEvent& known : known_events) {
    names.emplace_back(known.name);
    if (known.name != plain) continue;
    kind.type = known.type;
    kind.config = known.config;
    return kind;
  }
  constexpr int hexadecimal = 16;
  const auto raw =
      command_line::number_of<std::uint64_t>(std::string_view(plain).substr(plain.empty() ? 0 : 1), hexadecimal);
  if (plain.starts_with('r') && raw) {
    kind.type = PERF_TYPE_RAW;
    kind.config = *raw;
    return kind;
  }
  if (!find_tracepoint(plain, kind)) {
    const bool may_be_one = plain.find(':') != std::string::npos;
    throw UsageError("unknown event '" + printable(name) + "'" + command_line::suggestion_for(plain, names) +
                     (may_be_one ? " (tracepoints are in /sys/kernel/tracing/events, for root)" : ""));
  }
  return kind;
}

}  // namespace sframe_gen::trace
