// The way of a sample, from the kernel's ring to perf.data. One thread empties the rings and waits for nothing else,
// another one walks and writes.
//
//     read_record_options     record_options.cpp: what is asked for
//     Recorder                here: everything of a recording
//       RecordedCommand         record/recorded_command.hpp: the command, which waits until the events are there
//       EventFiles              record/event_files.hpp: the kernel's events; record/event_kind.hpp: their names
//       describe_kernel         record/found_programs.hpp: what is there already: the kernel, and mappings of processes
//     Recorder::take_in       here: the first thread, until something of Ends comes
//       Rings                   record/rings.hpp: the rings of all processors, and one order for their records
//         Ring, RecordOrder       record/ring.hpp: one ring; records by time
//         LostMappings            record/rings.hpp: whom to ask /proc about after records were lost
//         ProgramFiles            record/program_files.hpp: opens the file of each mapping while the program has it
//         without_room            record/walked_records.hpp: a sample without what the kernel filled its stack with
//       RecordQueue             record/ring.hpp: from the first thread to the second
//     Recorder::walk_all      here: the second thread, which has given up its rights (files/rights.hpp)
//       WalkedRecords           record/walked_records.hpp: takes records by time
//         RecordedPrograms        recorded/recorded_programs.hpp: programs, threads and mappings
//           read_sample             recorded/sample_words.hpp: the words of a sample
//           Walker                  walk/stack.hpp: the frames of its stack
//             Unwinder                unwind/unwind.cpp: a step by rows; unwind/walk.hpp has its rules
//             AddressSpace            walk/address_space.hpp: the file that holds a PC
//             CodeFile                walk/code_file.hpp: its rows
//           go_on_by                walk/outer_frames.hpp: the kernel's own frames, where the walk is cut
//           OuterStacks             walk/outer_frames.hpp: outer frames of earlier samples, if they are asked for
//         call_chain_record       recorded/call_chain_file.hpp: the sample again, with frames instead of its stack
//         PerfDataWriter          perf/perf_data_writer.hpp: the file; record/recording_header.hpp: what describes it
//     report_own_recording    run.hpp: without -o, reads the recording back, and reports

#include <poll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <future>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#include "command_line/options.hpp"
#include "sframe_gen/error.hpp"
#include "support/text.hpp"
#include "trace/files/output_file.hpp"
#include "trace/files/rights.hpp"
#include "trace/live/command.hpp"
#include "trace/program/run.hpp"
#include "trace/record/event_files.hpp"
#include "trace/record/found_programs.hpp"
#include "trace/record/program_files.hpp"
#include "trace/record/recorded_command.hpp"
#include "trace/record/recording_header.hpp"
#include "trace/record/ring.hpp"
#include "trace/record/rings.hpp"
#include "trace/record/walked_records.hpp"
#include "trace/walk/kernel_registers.hpp"

namespace sframe_gen::trace {

namespace {

constexpr std::uint64_t second_ns = 1'000'000'000;

void say(const char* kind, const std::string& what) {
  std::cerr << "sframe-trace: " << kind << ": " << what << '\n';
}

/// "0-3,5" of /sys, as a list.
std::vector<int> online_processors() {
  std::vector<int> processors;
  std::istringstream list(record::setting_of("/sys/devices/system/cpu/online"));
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
  const auto rate = command_line::number_of<std::uint64_t>(record::setting_of(rate_setting));
  return rate == 0U ? std::nullopt : rate;
}

/// What is allowed, and leaves programs time to run while their stacks are copied.
std::uint64_t highest_frequency() {
  constexpr std::uint64_t most_copied = 10'000;
  const auto rate = allowed_frequency();
  if (!rate) throw Refused(rate_setting, "cannot be read (give a number with -F)");
  return std::min(*rate, most_copied);
}

void say_error(const std::exception& failure) {
  const bool is_memory = dynamic_cast<const std::bad_alloc*>(&failure) != nullptr;
  say("error", is_memory ? "out of memory" : printable(failure.what()));
}

void check_frequency(std::uint64_t frequency) {
  const auto most = allowed_frequency();
  if (most && frequency > *most)
    throw UsageError("--freq: the kernel takes " + std::to_string(*most) +
                     " samples a second at most (use -F max, or raise kernel.perf_event_max_sample_rate)");
}

std::string list_of(const std::vector<int>& numbers) {
  std::string list;
  for (const int number : numbers) list.append(list.empty() ? "" : ", ").append(std::to_string(number));
  return list;
}

/// For the title of a picture, and for messages: a command beside processes or the machine only tells for how long.
std::string what_is_recorded(const TraceOptions& options) {
  const RecordOptions& record = options.record;
  if (record.all) return "the whole machine";
  if (!record.processors.empty()) return "processor " + list_of(record.processors);
  if (!record.processes.empty()) return "process " + list_of(record.processes);
  std::string command;
  for (const std::string& word : options.command) command.append(command.empty() ? "" : " ").append(word);
  return command;
}

/// What is recorded, of the threads that there are now.
record::EventRequest request_of(const RecordOptions& options, const record::RecordedCommand* command) {
  record::EventRequest request;
  for (const std::string& name : options.events) request.kinds.push_back(record::event_named(name));
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
    const std::vector<int> threads = record::running_threads(process);
    if (threads.empty()) throw SystemFailure("process " + std::to_string(process), "record", ESRCH);
    request.threads.insert(request.threads.end(), threads.begin(), threads.end());
  }
  return request;
}

/// Cycles are not counted everywhere, such as in most virtual machines. As perf does, the clock takes their place.
record::EventFiles open_events(record::EventRequest request) {
  if (request.kinds.empty()) request.kinds = {record::event_named("cycles:P")};
  const record::EventKind& kind = request.kinds.front();
  if (request.kinds.size() > 1 || !kind.is_cycles()) return record::EventFiles(std::move(request));
  record::EventRequest by_clock = request;
  by_clock.kinds = {record::event_named(!kind.in_kernel ? "cpu-clock:u" : !kind.in_user ? "cpu-clock:k" : "cpu-clock")};
  try {
    return record::EventFiles(std::move(request));
  } catch (const Refused&) {
    return record::EventFiles(std::move(by_clock));  // which says why, if it cannot be either
  }
}

/// Signals and other things that end a recording.
class Ends {
 public:
  Ends(const std::optional<std::uint64_t>& time_ns, record::RecordedCommand* command, const std::vector<int>& processes)
      : command_(command), end_(time_ns ? record::now_ns() + *time_ns : 0) {
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
    return is_asked_ || all_ended || (end_ != 0 && record::now_ns() >= end_) ||
           (command_ != nullptr && command_->status());
  }
  /// Rings are over that poll() was asked for.
  bool are_rings_over() const { return !is_over_.empty(); }

 private:
  record::RecordedCommand* command_;
  std::uint64_t end_;
  std::vector<Descriptor> waited_;
  std::map<int, bool> is_over_;
  bool is_asked_ = false;
};

/// A recording that is written. It takes its name in a thread of its own, which has the right to do it: what walks
/// stacks and writes has given it up, and what empties the rings must not wait.
class RecordingOutput {
 public:
  RecordingOutput(const std::filesystem::path& path, const std::vector<perf::WrittenEvent>& events)
      : file_(std::in_place, path),
        writer_(file_->descriptor(), path.string(), host_endian, events),
        naming_([this] { name(); }) {}
  /// It gets no name.
  RecordingOutput(Descriptor file, const std::vector<perf::WrittenEvent>& events)
      : unnamed_(std::move(file)), writer_(unnamed_.number(), unnamed_name, host_endian, events) {}
  ~RecordingOutput() { end(false); }
  RecordingOutput(const RecordingOutput&) = delete;
  RecordingOutput& operator=(const RecordingOutput&) = delete;

  perf::PerfDataWriter& writer() { return writer_; }
  /// `takes_name`: the file is to have its name. Throws SystemFailure.
  void update(bool takes_name) {
    writer_.update();
    if (takes_name) ask(true);
  }
  /// The file gets its name if it `is_kept`, and is removed if not and it has none yet. Throws what the naming threw.
  void finish(bool is_kept) {
    end(is_kept);
    if (failure_) std::rethrow_exception(failure_);
  }
  /// Of a file that has a name, or is to get one.
  std::filesystem::path path() const { return file_->current_path(); }
  /// What was written so far, of a file that gets no name.
  MappedFile map() const { return {unnamed_.number(), unnamed_name}; }

 private:
  static constexpr const char* unnamed_name = "temporary recording";

  void name() try {
    if (is_asked_.get_future().get()) file_->take_name();
  } catch (...) {
    failure_ = std::current_exception();
  }
  void ask(bool yes) {
    if (!std::exchange(was_asked_, true)) is_asked_.set_value(yes);
  }
  void end(bool is_kept) {
    ask(is_kept);
    if (naming_.joinable()) naming_.join();
  }

  std::optional<RecordingFile> file_;
  Descriptor unnamed_;
  perf::PerfDataWriter writer_;
  std::exception_ptr failure_;
  bool was_asked_ = false;
  std::promise<bool> is_asked_;
  std::thread naming_;
};

/// Everything of a recording under way.
class Recorder {
 public:
  Recorder(const TraceOptions& options, std::ostream& out)
      : options_(options),
        out_(out),
        picture_(begin_picture(options)),
        signals_(Ends::block_signals()),
        command_(options.command.empty()
                     ? nullptr
                     : std::make_unique<record::RecordedCommand>(options.command, options.record.as_root)),
        events_(open_events(request_of(options.record, command_.get()))),
        files_(options.translation),
        layouts_({"perf_event_open", "events"}, host_endian) {
    // What is over the limit on the size of files is a failure then. The command, which has begun, keeps the signal.
    std::signal(SIGXFSZ, SIG_IGN);
    for (const perf::WrittenEvent& event : events_.recorded())
      layouts_.add(event.attributes, std::as_bytes(std::span(event.ids)));
    files_.start();
    rings_.emplace(events_, layouts_, files_);
    open_outputs();
  }

  int run();

 private:
  /// The recording is read at the end, and has no name.
  bool reports() const { return options_.record.output.empty(); }
  void open_outputs();
  template <typename File>
  std::unique_ptr<RecordingOutput> make_file(File file, const std::vector<perf::WrittenEvent>& events) const;
  void update_files(bool take_name);
  void finish_files(bool is_kept);
  void describe_what_runs();
  void take_in();
  void walk_all();
  void end_with(const std::exception_ptr& failure);
  void say_begun() const;
  void say_lost() const;
  void say_all();
  void report();
  void save_what_there_is();

  const TraceOptions& options_;
  std::ostream& out_;
  std::optional<OutputFile> picture_;
  Descriptor signals_;
  std::unique_ptr<record::RecordedCommand> command_;
  record::EventFiles events_;
  record::ProgramFiles files_;
  perf::EventLayouts layouts_;
  report::StackTotals totals_;
  std::optional<record::Rings> rings_;
  std::unique_ptr<RecordingOutput> file_, raw_;
  std::optional<record::WalkedRecords> records_;
  record::RecordQueue queue_{most_waiting};
  std::exception_ptr failure_;

  /// Bytes of records: a program's first sample may wait for a second until rows are made.
  static constexpr std::size_t most_waiting = std::size_t{256} << 20U;
};

template <typename File>
std::unique_ptr<RecordingOutput> Recorder::make_file(File file, const std::vector<perf::WrittenEvent>& events) const {
  std::vector<std::string> words{"sframe-trace"};
  words.insert(words.end(), options_.record.words.begin(), options_.record.words.end());
  auto output = std::make_unique<RecordingOutput>(std::move(file), events);
  record::describe_recording(output->writer(), events_.request().kinds, events, words);
  return output;
}

void Recorder::open_outputs() {
  file_ = reports() ? make_file(open_unnamed_recording(picture_ ? picture_->folder() : ""), events_.walked())
                    : make_file(options_.record.output, events_.walked());
  record::RecordSinks sinks;
  sinks.file = &file_->writer();
  sinks.is_read_here = reports();
  sinks.sample = [this](const recorded::Sample& sample) {
    if (sample.has_user_stack) totals_.add(sample.user, walk::cut_of(sample.user));
  };
  // For tests, which walk the same records again.
  if (const char* const raw = ::getenv("SFRAME_TRACE_RAW_RECORDS"); raw != nullptr) {  // NOLINT(concurrency-mt-unsafe)
    raw_ = make_file(std::filesystem::path(raw), events_.recorded());
    sinks.raw = &raw_->writer();
  }
  records_.emplace(layouts_, files_, options_.most_frames, options_.frame_pointers, std::move(sinks));
  if (options_.earlier_samples) records_->use_earlier_samples();
}

void Recorder::describe_what_runs() {
  const record::TakeRecord add = [&](std::span<const std::byte> record) { rings_->add(record); };
  record::describe_kernel(add);
  std::vector<int> processes = options_.record.processes;
  if (options_.record.is_of_machine()) std::ranges::copy(record::running_processes(), std::back_inserter(processes));
  rings_->describe(processes);
}

/// Empties the rings until an end comes.
void Recorder::take_in() {
  // Another program's work must not keep a processor from this thread for long. It has little to do.
  constexpr int high_priority = -10;
  ::setpriority(PRIO_PROCESS, 0, high_priority);
  Ends ends(options_.record.time_ns, command_.get(), options_.record.processes);
  const std::vector<int> rings = rings_->descriptors();
  constexpr timespec pause{0, 5'000'000};
  constexpr int while_waiting_ms = 20, longest_ms = 200;
  bool is_waiting = false;
  while (!ends.have_come() && !queue_.has_ended()) {
    ends.wait(rings, signals_, is_waiting || ends.are_rings_over() ? while_waiting_ms : longest_ms);
    // Several records at a time.
    ::clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
    if (!queue_.has_room()) continue;
    rings_->empty();
    std::vector<record::TakenRecord> records = rings_->in_order(false);
    is_waiting = rings_->has_some();
    queue_.put(std::move(records));
  }
  files_.end_waiting();
  events_.end();
  rings_->empty();
  queue_.put(rings_->in_order(true));
  queue_.end();
}

/// Walks what the queue hands out, in a thread that has little more rights than to write its output: files of any
/// program are read there.
void Recorder::walk_all() try {
  std::vector<std::filesystem::path> writable;
  if (!options_.translation.cache.empty()) {
    std::error_code ignored;  // a failure to write there is reported
    std::filesystem::create_directories(options_.translation.cache, ignored);
    writable.push_back(options_.translation.cache);
  }
  give_up_rights(writable);
  // A recorder that is killed soon leaves something as well.
  constexpr std::uint64_t at_first_ns = second_ns / 10;
  const std::uint64_t begun = record::now_ns();
  std::uint64_t next_update = begun + at_first_ns;
  while (const auto records = queue_.take()) {
    for (const record::TakenRecord& record : *records) records_->take(record);
    const std::uint64_t now = record::now_ns();
    if (now < next_update) continue;
    next_update = now + (now - begun < second_ns ? at_first_ns : second_ns);
    update_files(records_->samples() != 0);
  }
  std::uint64_t lost = 0;
  for (const auto& [processor, of_processor] : rings_->lost()) lost += of_processor.samples + of_processor.others;
  records_->finish(lost);
  for (RecordingOutput* const written : {file_.get(), raw_.get()})
    if (written != nullptr) record::describe_times(written->writer(), records_->first_ns(), records_->last_ns());
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

int Recorder::run() {
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
  const bool is_kept = !command_ || command_->has_run();
  try {
    finish_files(is_kept);
  } catch (...) {
    if (!failure) failure = std::current_exception();
  }
  if (failure) {
    if (is_kept) save_what_there_is();
    end_with(failure);
    return live::cannot_be_traced;
  }
  if (!is_kept) return command_->wait();
  try {
    if (reports()) report();
  } catch (...) {
    end_with(std::current_exception());
    return live::cannot_be_traced;
  }
  say_all();
  if (command_) return command_->wait();
  return records_->samples() != 0 ? 0 : 1;
}

void Recorder::say_begun() const {
  const RecordOptions& record = options_.record;
  if (options_.quiet) return;
  if (!record.stacks_asked.empty()) say("note", record.stacks_asked + " is not needed: stacks are always recorded");
  if (record.events.size() == 1 && events_.request().kinds.front().name != record.events.front())
    say("note", record.events.front() + " is not counted by this machine: " + events_.request().kinds.front().name +
                    " is sampled");
  // A command has the terminal itself.
  if (command_ || ::isatty(STDERR_FILENO) == 0) return;
  std::cerr << "sframe-trace: recording " << what_is_recorded(options_) << " (Ctrl-C ends it)\n";
}

/// The command goes on without the recorder, which ends with it as usual.
void Recorder::end_with(const std::exception_ptr& failure) {
  if (!command_) std::rethrow_exception(failure);
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& known) {
    say_error(known);
  }
  command_->wait();
}

/// By the files that programs have mapped, which are open.
void Recorder::report() {
  report_own_recording(file_->map(), files_.root(),
                       {.code = [this](const walk::Mapping& mapping) { return files_.open(mapping); },
                        .jitdump = [this](const walk::Mapping& mapping) { return files_.open_text(mapping); }},
                       options_, out_, picture_);
}

/// After a failure.
void Recorder::save_what_there_is() {
  if (!reports()) return say("note", printable(file_->path().string()) + ": has what was written before");
  try {
    report();
    say("note", "what was recorded before was printed or drawn");
  } catch (const std::exception& failure) {
    say_error(failure);
  }
}

/// By kind, as one program's mappings take no room from samples, and by the ring.
void Recorder::say_lost() const {
  record::LostRecords all;
  std::string samples, others;
  for (const auto& [processor, lost] : rings_->lost()) {
    const auto add = [number = processor](std::string& text, std::uint64_t count) {
      if (count == 0) return;
      text.append(text.empty() ? "processor " : ", processor ").append(std::to_string(number)).append(": ");
      text.append(std::to_string(count));
    };
    all.samples += lost.samples;
    all.others += lost.others;
    add(samples, lost.samples);
    add(others, lost.others);
  }
  const bool is_small = rings_->are_small();
  const char* const more = "allow more memory for them (`sudo sysctl kernel.perf_event_mlock_kb=65536`), or ";
  if (all.samples != 0) {
    say("warning", std::to_string(all.samples) + " samples lost, of " +
                       std::to_string(all.samples + records_->samples()) + " (" + samples +
                       "): there was no room for them (" + (is_small ? more : "") + "lower -F" +
                       (is_small ? ")" : " or --stack)"));
  }
  if (all.others != 0) {
    say("warning", count_of(all.others, "record") + " of mappings, names and threads lost (" + others +
                       "): a program made them too fast (what is mapped was read from /proc)");
  }
}

void Recorder::say_all() {
  if (!events_.note().empty()) say("note", events_.note());
  say_lost();
  if (options_.quiet) return;
  totals_.write(std::cerr);
  if (records_->samples() == 0)
    say("note", "no samples: nothing that was recorded ran (sframe-trace PID shows where a process waits)");
  if (reports()) return;
  std::cerr << printable(options_.record.output.string()) << ": " << count_of(records_->samples(), "sample") << ", "
            << count_of(file_->writer().size(), "byte") << '\n';
}

}  // namespace

int run_record(const TraceOptions& options, std::ostream& out) {
  record::allow_many_files();
  walk::MissingAlternates missing_alternates;
  TraceOptions own = options;
  own.translation.source.missing_alternates = &missing_alternates;
  if (own.title.empty()) own.title = what_is_recorded(options);
  const bool prints = own.record.output.empty() && own.flame_graph.empty() && own.pprof.empty();
  try {
    // Before a file is opened that would take the number of a standard output that is closed.
    if (prints) require_writable(STDOUT_FILENO, "standard output");
    const int status = Recorder(own, out).run();
    warn_of_missing(missing_alternates);
    return status;
  } catch (const command_line::UsageError&) {
    throw;
  } catch (const std::exception& failure) {
    if (options.command.empty()) throw;
    say_error(failure);
    return live::cannot_be_traced;
  }
}

}  // namespace sframe_gen::trace
