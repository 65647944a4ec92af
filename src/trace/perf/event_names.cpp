#include "trace/perf/event_names.hpp"

#include <linux/perf_event.h>

#include <algorithm>

#include "support/bytes.hpp"
#include "support/text.hpp"

namespace sframe_gen::trace::perf {

namespace {

constexpr KnownEvent all_events[]{
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"cpu-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
    {"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {"branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    {"branch-instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    {"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    {"bus-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES},
    {"ref-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES},
    {"stalled-cycles-frontend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND},
    {"idle-cycles-frontend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND},
    {"stalled-cycles-backend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
    {"idle-cycles-backend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
    {"cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK},
    {"task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
    {"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    {"faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    {"minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN},
    {"major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ},
    {"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
    {"cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
    {"cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
    {"migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
    {"alignment-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS},
    {"emulation-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS},
};

}  // namespace

const std::span<const KnownEvent> known_events = all_events;

std::string event_name(std::uint32_t type, std::uint64_t config) {
  const auto known = std::ranges::find_if(
      known_events, [&](const KnownEvent& event) { return event.type == type && event.config == config; });
  return known != known_events.end() ? std::string(known->name) : "event " + std::to_string(type) + ":" + hex(config);
}

std::vector<std::string> recorded_event_names(std::span<const std::byte> feature, Endian endian) try {
  // A number of events and the size of an attribute; of each event the attribute, a number of IDs, a name, and the IDs.
  constexpr std::uint64_t id_size = 8;
  constexpr std::size_t longest = 256;
  const InputOrigin origin{"recording", "names of events"};
  ByteReader reader(feature, endian, origin);
  std::vector<std::string> names;
  std::uint32_t left = reader.u32("number of events");
  const std::uint32_t attribute_size = reader.u32("size of an attribute");
  for (; left > 0; --left) {
    reader.take(attribute_size, "attribute");
    const std::uint64_t ids = reader.u32("number of IDs");
    names.push_back(
        printable(text_before_zero(reader.take(reader.u32("length of a name"), "name")).substr(0, longest)));
    if (ids > reader.left() / id_size) return {};
    reader.take(ids * id_size, "IDs");
  }
  return names;
} catch (const MalformedInput&) {
  return {};
}

std::string_view without_modifiers(std::string_view name) {
  const std::size_t colon = name.rfind(':');
  const std::string_view after = colon == std::string_view::npos ? "" : name.substr(colon + 1);
  const bool are_modifiers = !after.empty() && after.find_first_not_of("ukhpPHGSDIWeb") == std::string_view::npos;
  return are_modifiers ? name.substr(0, colon) : name;
}

}  // namespace sframe_gen::trace::perf
