#include "trace/record/rings.hpp"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <ctime>
#include <limits>
#include <map>
#include <string>
#include <system_error>
#include <utility>

#include "sframe_gen/error.hpp"
#include "trace/record/found_programs.hpp"
#include "trace/record/walked_records.hpp"

namespace sframe_gen::trace {

namespace {

constexpr std::size_t smallest = std::size_t{1} << 16U;

std::size_t wanted_size(const EventRequest& request) {
  constexpr std::uint64_t usual_rate = 999, rest_of_sample = 1024, most_rate = 20'000;
  const std::uint64_t rate = request.is_frequency ? std::min(request.rate, most_rate) : usual_rate;
  const std::uint64_t in_a_second = rate * (request.stack + rest_of_sample) * request.kinds.size();
  const auto memory =
      static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  constexpr std::uint64_t share = 32;
  const std::uint64_t most = memory / share / std::max<std::size_t>(request.processors.size(), 1);
  return std::max(smallest, std::bit_floor(std::min(std::bit_ceil(in_a_second), most)));
}

}  // namespace

std::uint64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  constexpr std::uint64_t second = 1'000'000'000;
  return static_cast<std::uint64_t>(now.tv_sec) * second + static_cast<std::uint64_t>(now.tv_nsec);
}

Rings::Rings(const EventFiles& events, const EventLayouts& layouts, ProgramFiles& files)
    : layouts_(layouts), files_(files), size_(wanted_size(events.request())) {
  while (!map_all(events)) {
    is_small_ = true;
    size_ /= 2;
  }
}

/// False: they take more memory than the limits allow.
bool Rings::map_all(const EventFiles& events) {
  std::map<int, int> first_of;  // event by processor
  rings_.clear();
  for (const EventFile& event : events.files()) {
    const auto [first, is_first] = first_of.emplace(event.processor, event.file.number());
    if (!is_first) continue;
    const Ring& ring = rings_.emplace_back(event.file.number(), size_);
    if (ring.error() == 0) continue;
    if ((ring.error() == EPERM || ring.error() == ENOMEM) && size_ > smallest) return false;
    throw Refused("memory for samples",
                  std::string(std::generic_category().message(ring.error())) +
                      " (raise the limits: `sudo sysctl kernel.perf_event_mlock_kb=4096`, or `ulimit -l`)");
  }
  for (const EventFile& event : events.files()) {
    const int first = first_of.at(event.processor);
    if (first == event.file.number()) continue;
    if (::ioctl(event.file.number(), PERF_EVENT_IOC_SET_OUTPUT, first) !=
        0)  // NOLINT(cppcoreguidelines-pro-type-vararg)
      throw SystemFailure("events", "record", errno);
  }
  return true;
}

void Rings::add(std::span<const std::byte> bytes) {
  const PerfRecord record = read_record(bytes, layouts_);
  if (record.layout == nullptr) return;
  constexpr std::uint16_t mode = PERF_RECORD_MISC_CPUMODE_MASK;
  if (record.type == record_type::map2 && (record.flags & mode) == PERF_RECORD_MISC_USER)
    files_.note(read_mapping(record, host_endian, {"perf_event_open", "record"}));
  order_.add({record.time, without_room(record, bytes)});
  const std::uint64_t now = now_ns();
  // What is mapped while /proc is read has a record of its own, with a later time.
  if (const auto process = lost_.take(record, now))
    describe_process(*process, now, [this](std::span<const std::byte> found) { add(found); });
}

void Rings::empty() {
  const std::uint64_t now = now_ns();
  for (Ring& ring : rings_) ring.take([&](std::span<const std::byte> record) { add(record); });
  emptied_ = now;
}

std::vector<TakenRecord> Rings::in_order(bool all) {
  // A record has its time before it is written: a virtual machine may stop a processor in between.
  constexpr std::uint64_t most_late = 50'000'000;
  if (all) return order_.take_before(std::numeric_limits<std::uint64_t>::max());
  return order_.take_before(emptied_ > most_late ? emptied_ - most_late : 0);
}

std::vector<int> Rings::descriptors() const {
  std::vector<int> descriptors;
  for (const Ring& ring : rings_) descriptors.push_back(ring.event());
  return descriptors;
}

}  // namespace sframe_gen::trace
