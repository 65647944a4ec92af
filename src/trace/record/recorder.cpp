#include "trace/record/recorder.hpp"

#include <poll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <iterator>
#include <span>
#include <sstream>
#include <thread>
#include <utility>

#include "command_line/options.hpp"
#include "sframe_gen/error.hpp"
#include "trace/files/output_file.hpp"
#include "trace/files/rights.hpp"
#include "trace/record/found_programs.hpp"
#include "trace/record/recording_header.hpp"

namespace sframe_gen::trace::record {

namespace {

constexpr std::uint64_t second_ns = 1'000'000'000;

/// "0-3,5" of /sys, as a list.
std::vector<int> online_processors() {
  std::vector<int> processors;
  std::istringstream list(setting_of("/sys/devices/system/cpu/online"));
  int first = 0, last = 0;
  for (char mark = ','; mark == ',' && list >> first; list >> mark) {
    last = first;
    if (list.peek() == '-') list.ignore() >> last;
    for (int number = first; number <= last; ++number) processors.push_back(number);
    mark = 0;
  }
  return processors;
}

constexpr const char* rate_setting = "/proc/sys/kernel/perf_event_max_sample_rate";

/// Samples a second that the kernel allows; none: it does not tell.
std::optional<std::uint64_t> allowed_frequency() {
  const auto rate = command_line::number_of<std::uint64_t>(setting_of(rate_setting));
  return rate == 0U ? std::nullopt : rate;
}

/// What is allowed, and leaves programs time to run while their stacks are copied.
std::uint64_t highest_frequency() {
  constexpr std::uint64_t most_copied = 10'000;
  const auto rate = allowed_frequency();
  if (!rate) throw Refused(rate_setting, "cannot be read (give a number with -F)");
  return std::min(*rate, most_copied);
}

void check_frequency(std::uint64_t frequency) {
  const auto most = allowed_frequency();
  if (most && frequency > *most)
    throw command_line::UsageError(
        "--freq: the kernel takes " + std::to_string(*most) +
        " samples a second at most (use -F max, or raise kernel.perf_event_max_sample_rate)");
}

/// What is recorded, of the threads that there are now.
EventRequest request_of(const RecordOptions& options, const RecordedCommand* command) {
  EventRequest request;
  for (const std::string& name : options.events) request.kinds.push_back(event_named(name));
  request.is_frequency = options.period == 0;
  // Without rights, rings are small: the kernel allows half a MiB for each processor.
  const bool is_careful = options.is_of_machine() || ::geteuid() != 0;
  constexpr std::uint64_t careful_rate = 99, usual_rate = 999;
  const std::uint64_t usual = is_careful ? careful_rate : usual_rate;
  request.rate = options.period != 0 ? options.period : options.frequency != 0 ? options.frequency : usual;
  if (options.is_most_frequent) request.rate = highest_frequency();
  check_frequency(options.frequency);
  request.stack = options.stack;
  const std::vector<int> online = online_processors();
  request.processors = options.processors.empty() ? online : options.processors;
  for (const int processor : request.processors)
    if (!std::ranges::binary_search(online, processor))
      throw Refused("processor " + std::to_string(processor), "is not online");
  if (options.is_of_machine()) return request;
  // Beside processes, it tells how long they are recorded.
  if (command != nullptr && options.processes.empty()) {
    request.threads = {command->process()};
    request.at_exec = true;
  }
  for (const int process : options.processes) {
    const std::vector<int> threads = running_threads(process);
    if (threads.empty()) throw SystemFailure("process " + std::to_string(process), "record", ESRCH);
    request.threads.insert(request.threads.end(), threads.begin(), threads.end());
  }
  return request;
}

/// Cycles are not counted everywhere, such as in most virtual machines. As perf does, the clock takes their place.
EventFiles open_events(EventRequest request) {
  if (request.kinds.empty()) request.kinds = {event_named("cycles:P")};
  const EventKind& kind = request.kinds.front();
  if (request.kinds.size() > 1 || !kind.is_cycles()) return EventFiles(std::move(request));
  EventRequest by_clock = request;
  by_clock.kinds = {event_named(!kind.in_kernel ? "cpu-clock:u" : !kind.in_user ? "cpu-clock:k" : "cpu-clock")};
  try {
    return EventFiles(std::move(request));
  } catch (const Refused&) {
    return EventFiles(std::move(by_clock));  // which says why, if it cannot be either
  }
}

/// Signals and other things that end a recording.
class Ends {
 public:
  Ends(const std::optional<std::uint64_t>& time_ns, RecordedCommand* command, const std::vector<int>& processes)
      : command_(command), end_(time_ns ? now_ns() + *time_ns : 0) {
    for (const int process : processes)
      waited_.push_back({Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)))});
  }

  /// Signals that are taken from files from now on, in this thread and those that it starts.
  static Descriptor block_signals() {
    sigset_t taken{};
    ::sigemptyset(&taken);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) ::sigaddset(&taken, signal);
    ::sigprocmask(SIG_BLOCK, &taken, nullptr);
    return Descriptor(::signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK));
  }

  /// Waits until something may have come.
  void wait(const std::vector<int>& rings, const Descriptor& signals, int most_ms) {
    std::vector<pollfd> files{{signals.number(), POLLIN, 0}};
    for (const Descriptor& process : waited_) files.push_back({process.number(), POLLIN, 0});
    const std::size_t others = files.size();
    for (const int ring : rings) files.push_back({is_over_[ring] ? -1 : ring, POLLIN, 0});
    ::poll(files.data(), files.size(), most_ms);
    // The thread that a ring was made for has ended, which poll() goes on to say.
    for (std::size_t i = others; i < files.size(); ++i)
      if ((files[i].revents & POLLHUP) != 0) is_over_[files[i].fd] = true;
    signalfd_siginfo signal{};
    while (::read(signals.number(), &signal, sizeof signal) == sizeof signal)
      is_asked_ = is_asked_ || signal.ssi_signo != SIGCHLD;
    for (std::size_t i = 0; i < waited_.size(); ++i)
      if ((files[i + 1].revents & POLLIN) != 0) waited_[i].close();
  }

  bool have_come() {
    const bool all_ended = !waited_.empty() && std::ranges::none_of(waited_, &Descriptor::is_open);
    return is_asked_ || all_ended || (end_ != 0 && now_ns() >= end_) || (command_ != nullptr && command_->status());
  }
  /// Rings are over that poll() was asked for.
  bool are_rings_over() const { return !is_over_.empty(); }

 private:
  RecordedCommand* command_;
  std::uint64_t end_;
  std::vector<Descriptor> waited_;
  std::map<int, bool> is_over_;
  bool is_asked_ = false;
};

}  // namespace

Recorder::Recorder(const RecordOptions& options, const std::vector<std::string>& command, const WalkOptions& walking,
                   const std::filesystem::path& folder, TakeSample take)
    : options_(options),
      walking_(walking),
      signals_(Ends::block_signals()),
      command_(command.empty() ? nullptr : std::make_unique<RecordedCommand>(command, options.as_root)),
      events_(open_events(request_of(options, command_.get()))),
      files_(walking.translation),
      layouts_({"perf_event_open", "events"}, host_endian) {
  // What is over the limit on the size of files is a failure then. The command, which has begun, keeps the signal.
  std::signal(SIGXFSZ, SIG_IGN);
  for (const perf::WrittenEvent& event : events_.recorded())
    layouts_.add(event.attributes, std::as_bytes(std::span(event.ids)));
  files_.start();
  rings_.emplace(events_, layouts_, files_);
  open_outputs(folder, std::move(take));
}

template <typename File>
std::unique_ptr<RecordingOutput> Recorder::make_file(File file, const std::vector<perf::WrittenEvent>& events) const {
  std::vector<std::string> words{"sframe-trace"};
  words.insert(words.end(), options_.words.begin(), options_.words.end());
  auto output = std::make_unique<RecordingOutput>(std::move(file), events);
  describe_recording(output->writer(), events_.request().kinds, events, words);
  return output;
}

void Recorder::open_outputs(const std::filesystem::path& folder, TakeSample take) {
  const bool has_name = !options_.output.empty();
  file_ = has_name ? make_file(options_.output, events_.walked())
                   : make_file(open_unnamed_recording(folder), events_.walked());
  RecordSinks sinks;
  sinks.file = &file_->writer();
  sinks.is_read_here = !has_name;
  sinks.sample = std::move(take);
  // For tests, which walk the same records again.
  if (const char* const raw = ::getenv("SFRAME_TRACE_RAW_RECORDS"); raw != nullptr) {  // NOLINT(concurrency-mt-unsafe)
    raw_ = make_file(std::filesystem::path(raw), events_.recorded());
    sinks.raw = &raw_->writer();
  }
  records_.emplace(layouts_, files_, walking_.most_frames, walking_.frame_pointers, std::move(sinks));
  if (walking_.earlier_samples) records_->use_earlier_samples();
}

void Recorder::describe_what_runs() {
  const TakeRecord add = [&](std::span<const std::byte> record) { rings_->add(record); };
  describe_kernel(add);
  std::vector<int> processes = options_.processes;
  if (options_.is_of_machine()) std::ranges::copy(running_processes(), std::back_inserter(processes));
  rings_->describe(processes);
}

/// Empties the rings until an end comes.
void Recorder::take_in() {
  // Another program's work must not keep a processor from this thread for long. It has little to do.
  constexpr int high_priority = -10;
  ::setpriority(PRIO_PROCESS, 0, high_priority);
  Ends ends(options_.time_ns, command_.get(), options_.processes);
  const std::vector<int> rings = rings_->descriptors();
  constexpr timespec pause{0, 5'000'000};
  constexpr int while_waiting_ms = 20, longest_ms = 200;
  bool is_waiting = false;
  while (!ends.have_come() && !queue_.has_ended()) {
    ends.wait(rings, signals_, is_waiting || ends.are_rings_over() ? while_waiting_ms : longest_ms);
    // Several records at a time.
    ::clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
    if (!queue_.has_room()) continue;
    rings_->take_out();
    std::vector<TakenRecord> records = rings_->in_order(false);
    is_waiting = rings_->has_some();
    queue_.put(std::move(records));
  }
  files_.end_waiting();
  events_.end();
  rings_->take_out();
  queue_.put(rings_->in_order(true));
  queue_.end();
}

/// Walks what the queue hands out, in a thread that has little more rights than to write its output: files of any
/// program are read there.
void Recorder::walk_all() try {
  std::vector<std::filesystem::path> writable;
  if (!walking_.translation.cache.empty()) {
    std::error_code ignored;  // a failure to write there is reported
    std::filesystem::create_directories(walking_.translation.cache, ignored);
    writable.push_back(walking_.translation.cache);
  }
  give_up_rights(writable);
  // A recorder that is killed soon leaves something as well.
  constexpr std::uint64_t at_first_ns = second_ns / 10;
  const std::uint64_t begun = now_ns();
  std::uint64_t next_update = begun + at_first_ns;
  while (const auto records = queue_.take()) {
    for (const TakenRecord& record : *records) records_->take(record);
    const std::uint64_t now = now_ns();
    if (now < next_update) continue;
    next_update = now + (now - begun < second_ns ? at_first_ns : second_ns);
    update_files(records_->samples() != 0);
  }
  std::uint64_t lost = 0;
  for (const auto& [processor, of_processor] : rings_->lost()) lost += of_processor.samples + of_processor.others;
  records_->finish(lost);
  for (RecordingOutput* const written : {file_.get(), raw_.get()})
    if (written != nullptr) describe_times(written->writer(), records_->first_ns(), records_->last_ns());
  update_files(false);
} catch (...) {
  failure_ = std::current_exception();
  queue_.end();
}

void Recorder::update_files(bool take_name) {
  for (RecordingOutput* const written : {file_.get(), raw_.get()})
    if (written != nullptr) written->update(take_name);
}

void Recorder::finish_files(bool is_kept) {
  for (RecordingOutput* const written : {file_.get(), raw_.get()})
    if (written != nullptr) written->finish(is_kept);
}

std::exception_ptr Recorder::run(const std::function<void()>& say_begun) {
  events_.begin();
  describe_what_runs();
  std::thread walking([this] { walk_all(); });
  std::exception_ptr failure;
  try {
    if (command_) command_->begin();
    say_begun();
    take_in();
  } catch (...) {
    failure = std::current_exception();
    queue_.end();
  }
  // From now on, a signal ends this program: records that wait may take long, and so may the reader of the output.
  sigset_t none{};
  ::sigemptyset(&none);
  ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
  walking.join();
  if (!failure) failure = failure_;
  // A command that cannot be run leaves everything as it is.
  is_kept_ = !command_ || command_->has_run();
  try {
    finish_files(is_kept_);
  } catch (...) {
    if (!failure) failure = std::current_exception();
  }
  return failure;
}

}  // namespace sframe_gen::trace::record
