#include "trace/record/event_files.hpp"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <optional>
#include <utility>

#include "sframe_gen/error.hpp"
#include "support/text.hpp"
#include "trace/walk/kernel_registers.hpp"

namespace sframe_gen::trace::record {

namespace {

constexpr std::uint64_t registers_and_stack = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
constexpr std::uint64_t sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                                      PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN |
                                      registers_and_stack;

perf_event_attr asked_of_kernel(const EventRequest& request, std::size_t index, bool counts_lost) {
  const EventKind& kind = request.kinds[index];
  perf_event_attr event{};
  event.size = sizeof event;
  event.type = kind.type;
  event.config = kind.config;
  event.sample_type = sample_type | (kind.is_tracepoint() ? PERF_SAMPLE_RAW : 0);  // its fields
  event.freq = request.is_frequency ? 1 : 0;
  event.sample_freq = request.rate;
  event.read_format = counts_lost ? PERF_FORMAT_LOST : 0;
  event.disabled = 1;
  event.inherit = request.threads.empty() ? 0 : 1;
  event.enable_on_exec = request.at_exec ? 1 : 0;
  event.exclude_user = kind.in_user ? 0 : 1;
  event.exclude_kernel = kind.in_kernel ? 0 : 1;
  event.exclude_hv = kind.in_kernel ? 0 : 1;
  event.precise_ip = kind.precision & 3U;
  // Programs are walked here. The kernel's own walk, by frame pointers, reads memory that the copied piece lacks.
  event.exclude_callchain_user = walk::host_abi() == sframe::Abi::Amd64 ? 0 : 1;
  event.sample_regs_user = walk::registers_to_record(walk::host_abi());
  event.sample_stack_user = request.stack;
  event.sample_id_all = 1;
  const bool tells_all = index == 0;
  event.mmap = event.mmap2 = event.comm = event.comm_exec = event.task = tells_all ? 1 : 0;
  // A number of events to wake up for (wakeup_events) counts samples only.
  event.watermark = 1;
  event.wakeup_watermark = 1;
  event.use_clockid = 1;
  event.clockid = CLOCK_MONOTONIC;
  return event;
}

/// Of all that is no sample. In a ring of its own, one program's mappings take no room from the others' samples.
perf_event_attr side_band(const EventRequest& request, bool counts_lost) {
  perf_event_attr event = asked_of_kernel(request, 0, counts_lost);
  event.type = PERF_TYPE_SOFTWARE;
  event.config = PERF_COUNT_SW_DUMMY;
  event.sample_type &= ~(registers_and_stack | PERF_SAMPLE_RAW);
  event.freq = 0;
  event.sample_freq = 0;
  event.precise_ip = 0;
  event.exclude_user = 0;
  event.exclude_kernel = event.exclude_hv = 1;
  event.sample_regs_user = 0;
  event.sample_stack_user = 0;
  return event;
}

/// As ioctl() with a number, which hardly any of these needs.
int control(int file, unsigned long what, unsigned long argument = 0) {
  return ::ioctl(file, what, argument);  // NOLINT(cppcoreguidelines-pro-type-vararg)
}

constexpr const char* paranoid_setting = "/proc/sys/kernel/perf_event_paranoid";

/// A thread that belongs to another user, or hides from its own: it has changed its rights.
std::optional<int> other_users_thread(const EventRequest& request) {
  for (const int thread : request.threads) {
    struct stat status {};
    if (::stat(("/proc/" + std::to_string(thread)).c_str(), &status) == 0 && status.st_uid != ::geteuid())
      return thread;
  }
  return std::nullopt;
}

std::string why_forbidden(const EventRequest& request, int error) {
  const std::string paranoid = setting_of(paranoid_setting);
  const std::string reason = std::strerror(error);
  if (paranoid.empty()) return "cannot record events: " + reason + " (this kernel has no perf events)";
  if (::geteuid() == 0) {
    return "cannot record events: " + reason +
           " (a container forbids it: allow perf_event_open in its seccomp profile, and give it CAP_PERFMON)";
  }
  if (const auto thread = other_users_thread(request)) {
    return "cannot record events: " + reason + " (process " + std::to_string(*thread) +
           " is not this user's: record as root or as its user, or with CAP_PERFMON and CAP_SYS_PTRACE)";
  }
  const bool has_tracepoint = std::ranges::any_of(request.kinds, &EventKind::is_tracepoint);
  const char* const needed = has_tracepoint ? "-1" : request.threads.empty() ? "0" : "1";
  return "cannot record events: " + reason + " (kernel.perf_event_paranoid is " + paranoid +
         ": record as root, or allow it with `sudo sysctl kernel.perf_event_paranoid=" + needed + "`)";
}

[[noreturn]] void refuse(const EventRequest& request, std::size_t kind, int error) {
  const std::string name = "event " + printable(request.kinds[kind].name);
  switch (error) {
    case EACCES:
    case EPERM:
      throw Refused(name, why_forbidden(request, error));
    case EMFILE:
      throw Refused(name, "too many files for events of all threads and processors (raise the limit: `ulimit -n`)");
    case ENOENT:
    case EOPNOTSUPP:
    case ENODEV:
      throw Refused(name, "not counted by this machine (cpu-clock is by all)");
    case ENOSYS:
      throw Refused(name, "this kernel has no perf events, or a container's seccomp profile forbids perf_event_open");
    case EINVAL:
      throw Refused(name,
                    "the kernel does not take samples with registers and stack of it, or not so many (see "
                    "kernel.perf_event_max_sample_rate)");
    default:
      throw SystemFailure(name, "record", error);
  }
}

}  // namespace

std::vector<std::byte> attributes_of(const EventRequest& request, std::size_t kind, bool counts_lost, bool has_stack) {
  perf_event_attr event = asked_of_kernel(request, kind, counts_lost);
  if (!has_stack) {
    event.exclude_callchain_user = 1;
    event.sample_type &= ~registers_and_stack;
    event.sample_regs_user = 0;
    event.sample_stack_user = 0;
  }
  const auto bytes = std::as_bytes(std::span(&event, 1));
  return {bytes.begin(), bytes.end()};
}

std::string setting_of(const std::string& path) {
  std::string value;
  std::getline(std::ifstream(path) >> std::ws, value);
  return value;
}

void allow_many_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

EventFiles::EventFiles(EventRequest request) : request_(std::move(request)) {
  open_all();
  if (files_.empty()) throw Refused("processes", "ended before they could be recorded");
}

void EventFiles::open_all() {
  std::vector<int> threads = request_.threads;
  if (threads.empty()) threads.push_back(-1);
  for (const int processor : request_.processors) {
    for (const int thread : threads) {
      for (std::size_t kind = 0; kind <= request_.kinds.size(); ++kind) {
        while (!open_one(kind, thread, processor)) {
        }
      }
    }
  }
}

/// False: to be tried again, with less.
bool EventFiles::open_one(std::size_t kind, int thread, int processor) {
  const bool is_side_band = kind == request_.kinds.size();
  perf_event_attr event =
      is_side_band ? side_band(request_, counts_lost_) : asked_of_kernel(request_, kind, counts_lost_);
  // What is written says that the first kind tells of these, as readers expect.
  event.mmap = event.mmap2 = event.comm = event.comm_exec = event.task = is_side_band ? 1 : 0;
  Descriptor file(static_cast<int>(
      ::syscall(SYS_perf_event_open, &event, thread, processor, -1, std::uint64_t{PERF_FLAG_FD_CLOEXEC})));
  if (!file.is_open()) {
    const int error = errno;
    // The thread has ended, or the processor is off.
    if (error == ESRCH || (error == ENODEV && !files_.empty())) return true;
    const bool is_first = std::ranges::find(files_, kind, &EventFile::kind) == files_.end();
    const bool is_forbidden = error == EACCES || error == EPERM;
    if (!is_side_band && is_first && !is_forbidden && request_.kinds[kind].lower_precision()) return false;
    if (files_.empty() && asks_for_less(error)) return false;
    refuse(request_, is_side_band ? 0 : kind, error);
  }
  std::uint64_t id = 0;
  if (::ioctl(file.number(), PERF_EVENT_IOC_ID, &id) != 0)  // NOLINT(cppcoreguidelines-pro-type-vararg)
    refuse(request_, is_side_band ? 0 : kind, errno);
  files_.push_back({std::move(file), kind, processor, is_side_band});
  ids_.push_back(id);
  return true;
}

/// Of the first event that the kernel refuses.
bool EventFiles::asks_for_less(int error) {
  if (error == EINVAL && std::exchange(counts_lost_, false)) {
    // It was not the precision, then.
    for (EventKind& kind : request_.kinds)
      if (kind.is_as_precise_as_possible) kind.precision = EventKind::most_precise;
    return true;
  }
  if (error != EACCES && error != EPERM) return false;
  bool is_less = false;
  for (EventKind& kind : request_.kinds)
    if (kind.in_user) is_less = std::exchange(kind.in_kernel, false) || is_less;
  note_ = "the kernel's own work is left out (kernel.perf_event_paranoid is " + setting_of(paranoid_setting) +
          "; 1 allows it)";
  return is_less;
}

std::vector<perf::WrittenEvent> EventFiles::described(bool has_stack) const {
  std::vector<perf::WrittenEvent> events;
  for (std::size_t kind = 0; kind < request_.kinds.size(); ++kind) {
    perf::WrittenEvent& written =
        events.emplace_back(perf::WrittenEvent{attributes_of(request_, kind, counts_lost_, has_stack), {}});
    for (std::size_t i = 0; i < files_.size(); ++i)
      if (files_[i].kind == kind) written.ids.push_back(ids_[i]);
  }
  return events;
}

void EventFiles::begin() const {
  if (request_.at_exec) return;
  for (const EventFile& file : files_) control(file.file.number(), PERF_EVENT_IOC_ENABLE);
}

void EventFiles::end() const {
  for (const EventFile& file : files_) control(file.file.number(), PERF_EVENT_IOC_DISABLE);
}

std::map<int, LostRecords> EventFiles::lost() const {
  std::map<int, LostRecords> lost;
  if (!counts_lost_) return lost;
  for (const EventFile& event : files_) {
    std::array<std::uint64_t, 2> counts{};  // of events, and of lost records
    if (::read(event.file.number(), counts.data(), sizeof counts) != sizeof counts) continue;
    LostRecords& of_processor = lost[event.processor];
    (event.is_side_band ? of_processor.others : of_processor.samples) += counts[1];
  }
  return lost;
}

}  // namespace sframe_gen::trace::record
