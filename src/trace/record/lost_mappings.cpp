#include "trace/record/lost_mappings.hpp"

#include <linux/perf_event.h>

#include <span>

#include "support/endian.hpp"

namespace sframe_gen::trace::record {

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
