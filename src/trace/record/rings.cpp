#include "trace/record/rings.hpp"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <ctime>
#include <limits>
#include <string>
#include <system_error>
#include <utility>

#include "sframe_gen/error.hpp"
#include "support/endian.hpp"
#include "trace/record/walked_records.hpp"

namespace sframe_gen::trace::record {

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

Rings::Rings(const EventFiles& events, const perf::EventLayouts& layouts, ProgramFiles& files)
    : events_(events), layouts_(layouts), files_(files), size_(wanted_size(events.request())) {
  while (!map_all(events)) {
    is_small_ = true;
    size_ /= 2;
  }
}

/// False: they take more memory than the limits allow.
bool Rings::map_all(const EventFiles& events) {
  // A mapping's record has some 150 bytes, and a sample's up to 64 KiB.
  constexpr std::size_t share_of_side_band = 4, most_for_side_band = std::size_t{1} << 20U;
  const std::size_t side_band_size = std::clamp(size_ / share_of_side_band, smallest, most_for_side_band);
  std::map<std::pair<bool, int>, int> first_of;  // event by processor
  rings_.clear();
  for (const bool is_side_band : {true, false}) {
    for (const EventFile& event : events.files()) {
      if (event.is_side_band != is_side_band) continue;
      if (!first_of.emplace(std::pair(is_side_band, event.processor), event.file.number()).second) continue;
      rings_.push_back(
          {Ring(event.file.number(), is_side_band ? side_band_size : size_), event.processor, is_side_band});
      const int error = rings_.back().ring.error();
      if (error == 0) continue;
      if ((error == EPERM || error == ENOMEM) && size_ > smallest) return false;
      throw Refused("memory for samples",
                    std::string(std::generic_category().message(error)) +
                        " (raise the limits: `sudo sysctl kernel.perf_event_mlock_kb=4096`, or `ulimit -l`)");
    }
  }
  for (const EventFile& event : events.files()) {
    const int first = first_of.at({event.is_side_band, event.processor});
    if (first == event.file.number()) continue;
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg)
    if (::ioctl(event.file.number(), PERF_EVENT_IOC_SET_OUTPUT, first) != 0)
      throw SystemFailure("events", "record", errno);
  }
  return true;
}

void Rings::add(std::span<const std::byte> record) {
  add(record, true);
}

void Rings::add(std::span<const std::byte> bytes, bool tells_of_lost_mappings) {
  const perf::PerfRecord record = read_record(bytes, layouts_);
  if (record.layout == nullptr) return;
  constexpr std::uint16_t mode = PERF_RECORD_MISC_CPUMODE_MASK;
  if (record.type == perf::record_type::map2 && (record.flags & mode) == PERF_RECORD_MISC_USER)
    files_.note(recorded::read_mapping(record, host_endian, {"perf_event_open", "record"}));
  order_.add({record.time, without_room(record, bytes)});
  if (!tells_of_lost_mappings) return;
  const std::uint64_t now = now_ns();
  // What is mapped while /proc is read has a record of its own, with a later time.
  if (const auto process = lost_mappings_.take(record, now)) described_.begin({*process}, now);
}

/// A record of a ring, whose last word is the number of its event.
void Rings::take(const OfProcessor& ring, std::span<const std::byte> record) {
  constexpr std::size_t number_size = 8, smallest_lost = perf::record_header_size + 2 * number_size;
  const bool is_lost = load<std::uint32_t>(record, host_endian) == PERF_RECORD_LOST && record.size() >= smallest_lost;
  if (is_lost) {
    LostRecords& lost = lost_[ring.processor];
    (ring.is_side_band ? lost.others : lost.samples) +=
        load<std::uint64_t>(record.subspan(perf::record_header_size + number_size), host_endian);
  }
  if (!ring.is_side_band || record.size() < perf::record_header_size + number_size) return add(record, !is_lost);
  changed_.assign(record.begin(), record.end());
  const std::span changed(changed_);
  store(changed.last(number_size), events_.first_id(), host_endian);
  if (is_lost) store(changed.subspan(perf::record_header_size), events_.first_id(), host_endian);
  add(changed, true);
}

void Rings::describe(const std::vector<int>& processes) {
  described_.begin(processes, 0);
  described_.wait();
  described_.take([this](std::span<const std::byte> record) { add(record); });
}

void Rings::take_out() {
  const std::uint64_t now = now_ns();
  for (OfProcessor& ring : rings_) {
    const bool may_have_lost = ring.ring.take([&](std::span<const std::byte> record) { take(ring, record); });
    if (may_have_lost && ring.is_side_band) lost_mappings_.expect_loss();
  }
  described_.take([this](std::span<const std::byte> record) { add(record); });
  emptied_ = now;
}

std::map<int, LostRecords> Rings::lost() const {
  std::map<int, LostRecords> lost = lost_;
  // No record tells of those that were lost last.
  for (const auto& [processor, of_kernel] : events_.lost()) {
    LostRecords& known = lost[processor];
    known.samples = std::max(known.samples, of_kernel.samples);
    known.others = std::max(known.others, of_kernel.others);
  }
  return lost;
}

std::vector<TakenRecord> Rings::in_order(bool all) {
  // A record has its time before it is written: a virtual machine may stop a processor in between.
  constexpr std::uint64_t most_late = 50'000'000;
  if (all) return order_.take_before(std::numeric_limits<std::uint64_t>::max());
  return order_.take_before(emptied_ > most_late ? emptied_ - most_late : 0);
}

std::vector<int> Rings::descriptors() const {
  std::vector<int> descriptors;
  for (const OfProcessor& ring : rings_) descriptors.push_back(ring.ring.event());
  return descriptors;
}

namespace {

// Places in a body: of a sample of EventFiles, the process; of a fork or an exit, process, its parent and the thread.
constexpr std::size_t process_of_sample = 16, process_place = 0, parent_place = 4, thread_place = 8, smallest_body = 24;

int number_at(const perf::PerfRecord& record, std::size_t place) {
  return static_cast<int>(load<std::uint32_t>(record.body.subspan(place), host_endian));
}

}  // namespace

std::optional<int> LostMappings::take(const perf::PerfRecord& record, std::uint64_t now) {
  constexpr std::uint64_t second = 1'000'000'000;
  if (record.type == PERF_RECORD_LOST) lost_again_ = true;
  if (lost_again_ && (!lost_at_ || now - *lost_at_ >= second)) {
    lost_at_ = now;
    lost_again_ = false;
    known_.clear();
  }
  if (!lost_at_ || record.body.size() < smallest_body) return std::nullopt;
  if (record.type == perf::record_type::sample) {
    const int process = number_at(record, process_of_sample);
    if (process > 0 && known_.insert(process).second) return process;
  } else if (record.type == perf::record_type::fork) {
    const int process = number_at(record, process_place);
    if (process != number_at(record, parent_place)) known_.insert(process);
  } else if (record.type == perf::record_type::exit) {
    const int process = number_at(record, process_place);
    if (process == number_at(record, thread_place)) known_.erase(process);
  }
  return std::nullopt;
}

}  // namespace sframe_gen::trace::record
