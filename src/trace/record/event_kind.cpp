#include "trace/record/event_kind.hpp"

#include <linux/perf_event.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "command_line/options.hpp"
#include "support/text.hpp"
#include "trace/perf/event_names.hpp"

namespace sframe_gen::trace::record {

namespace {

using command_line::UsageError;

struct KnownPart {
  std::string_view name;
  std::uint64_t value;
};

constexpr KnownPart known_caches[]{
    {"L1-dcache", PERF_COUNT_HW_CACHE_L1D}, {"L1-icache", PERF_COUNT_HW_CACHE_L1I}, {"LLC", PERF_COUNT_HW_CACHE_LL},
    {"dTLB", PERF_COUNT_HW_CACHE_DTLB},     {"iTLB", PERF_COUNT_HW_CACHE_ITLB},     {"branch", PERF_COUNT_HW_CACHE_BPU},
    {"node", PERF_COUNT_HW_CACHE_NODE},
};
constexpr std::uint64_t operation_shift = 8, misses = std::uint64_t{PERF_COUNT_HW_CACHE_RESULT_MISS} << 16U;
constexpr KnownPart known_operations[]{
    {"-loads", std::uint64_t{PERF_COUNT_HW_CACHE_OP_READ} << operation_shift},
    {"-stores", std::uint64_t{PERF_COUNT_HW_CACHE_OP_WRITE} << operation_shift},
    {"-prefetches", std::uint64_t{PERF_COUNT_HW_CACHE_OP_PREFETCH} << operation_shift},
    {"-load-misses", std::uint64_t{PERF_COUNT_HW_CACHE_OP_READ} << operation_shift | misses},
    {"-store-misses", std::uint64_t{PERF_COUNT_HW_CACHE_OP_WRITE} << operation_shift | misses},
    {"-prefetch-misses", std::uint64_t{PERF_COUNT_HW_CACHE_OP_PREFETCH} << operation_shift | misses},
};

/// "L1-dcache-load-misses"
bool find_cache_event(std::string_view name, EventKind& kind) {
  for (const KnownPart& cache : known_caches) {
    if (!name.starts_with(cache.name)) continue;
    const auto operation = std::ranges::find(known_operations, name.substr(cache.name.size()), &KnownPart::name);
    if (operation == std::end(known_operations)) continue;
    kind.type = PERF_TYPE_HW_CACHE;
    kind.config = cache.value | operation->value;
    return true;
  }
  return false;
}

/// "cycles", "L1-dcache-loads", "r1a8". False: there is none of the name.
bool find_counted(std::string_view name, EventKind& kind) {
  if (const auto known = std::ranges::find(perf::known_events, name, &perf::KnownEvent::name);
      known != perf::known_events.end()) {
    kind.type = known->type;
    kind.config = known->config;
    return true;
  }
  constexpr int hexadecimal = 16;
  const auto raw =
      name.starts_with('r') ? command_line::number_of<std::uint64_t>(name.substr(1), hexadecimal) : std::nullopt;
  if (!raw) return find_cache_event(name, kind);
  kind.type = PERF_TYPE_RAW;
  kind.config = *raw;
  return true;
}

/// "u", "k", "ppp", "uP"
void read_modifiers(std::string_view letters, const std::string& name, EventKind& kind) {
  const auto has = [&](char letter) { return letters.find(letter) != std::string_view::npos; };
  const auto precise = static_cast<unsigned>(std::ranges::count(letters, 'p'));
  if (letters.empty() || letters.find_first_not_of("ukpP") != std::string_view::npos ||
      precise > EventKind::most_precise)
    throw UsageError("event '" + printable(name) + "': unknown letters after the colon (use u, k, p to ppp, or P)");
  if (has('u') || has('k')) {
    kind.in_user = has('u');
    kind.in_kernel = has('k');
  }
  kind.is_as_precise_as_possible = has('P');
  kind.precision = has('P') ? EventKind::most_precise : precise;
}

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

bool EventKind::is_cycles() const {
  return type == PERF_TYPE_HARDWARE && config == PERF_COUNT_HW_CPU_CYCLES;
}

bool EventKind::lower_precision() {
  if (!is_as_precise_as_possible || precision == 0) return false;
  --precision;
  return true;
}

EventKind event_named(const std::string& name) {
  EventKind kind{.name = name};
  const std::size_t colon = name.rfind(':');
  const std::string plain = name.substr(0, colon);
  const std::string after = colon == std::string::npos ? "" : name.substr(colon + 1);
  if (find_counted(plain, kind)) {
    if (colon != std::string::npos) read_modifiers(after, name, kind);
    return kind;
  }
  // A tracepoint's own name has a colon.
  if (find_tracepoint(name, kind)) return kind;
  if (find_tracepoint(plain, kind)) {
    read_modifiers(after, name, kind);
    return kind;
  }
  std::vector<std::string> names;
  for (const perf::KnownEvent& known : perf::known_events) names.emplace_back(known.name);
  if (name.starts_with('{'))
    throw UsageError("unknown event '" + printable(name) + "' (groups are not sampled: give -e EVENT,EVENT)");
  if (name.find('/') != std::string::npos)
    throw UsageError("unknown event '" + printable(name) + "' (give a counter of the processor as -e rNUMBER)");
  std::string hint = command_line::suggestion_for(plain, names);
  if (colon != std::string::npos) hint += " (tracepoints are in /sys/kernel/tracing/events, for root)";
  throw UsageError("unknown event '" + printable(name) + "'" + (hint.empty() ? " (`perf list` names them)" : hint));
}

}  // namespace sframe_gen::trace::record
