// The way of a sample, from the kernel's ring to perf.data. One thread empties the rings and waits for nothing else,
// another one walks and writes. More threads only wait: for files, /proc, and the recording's name.
//
//     read_record_options     trace/program/record_options.cpp: what is asked for
//     RecordRun               here: what is said and reported of a recording
//     Recorder                trace/record/recorder.hpp: everything of a recording
//       RecordedCommand         trace/record/recorded_command.hpp: the command, which waits until the events are there
//       EventFiles              trace/record/event_files.hpp: the kernel's events; trace/record/event_kind.hpp: names
//     Recorder::run           trace/record/recorder.cpp: begins, and has both threads
//       describe_kernel         trace/record/found_programs.hpp: what is there already: kernel, processes, mappings
//     Recorder::take_in       trace/record/recorder.cpp: the first thread, until one of Ends comes
//       Rings                   trace/record/rings.hpp: the rings of all processors, and one order for their records
//         Ring, RecordOrder       trace/record/ring.hpp: one ring; records by time
//         LostMappings            trace/record/rings.hpp: whom to ask /proc about after records were lost
//         ProgramFiles            trace/record/program_files.hpp: opens each mapping's file while the program has it
//         read_record             trace/record/walked_records.hpp: its head; trace/perf/record.hpp has the layouts
//         without_room            trace/record/walked_records.hpp: a sample without the room after its stack
//       RecordQueue             trace/record/ring.hpp: from the first thread to the second
//     Recorder::walk_all      trace/record/recorder.cpp: the second thread; trace/files/rights.hpp: without rights
//       WalkedRecords           trace/record/walked_records.hpp: takes records by time
//         RecordedPrograms        trace/recorded/recorded_programs.hpp: programs, threads and mappings
//           read_sample             trace/recorded/sample_words.hpp: the words of a sample
//           Walker                  trace/walk/stack.hpp: the frames of its stack
//             Unwinder                unwind/unwind.cpp: a step by rows; unwind/walk.hpp has its rules
//             AddressSpace            trace/walk/address_space.hpp: the file that holds a PC
//             CodeFile                trace/walk/code_file.hpp: its rows
//           go_on_by                trace/walk/outer_frames.hpp: where a walk is cut: callers that the kernel found
//           OuterStacks             trace/walk/outer_frames.hpp: frames of earlier samples, if asked for
//         call_chain_record       trace/recorded/call_chain_file.hpp: the sample again, with frames for its stack
//         RecordingOutput         trace/record/recording_output.hpp: gives the file its name in time
//         PerfDataWriter          trace/perf/perf_data_writer.hpp: writes; trace/record/recording_header.hpp: the head
//     report_own_recording    trace/program/run.hpp: without -o, reads the recording back, and reports

#include <unistd.h>

#include <exception>
#include <iostream>
#include <new>
#include <utility>

#include "sframe_gen/error.hpp"
#include "support/text.hpp"
#include "trace/files/output_file.hpp"
#include "trace/live/command.hpp"
#include "trace/program/run.hpp"
#include "trace/record/event_files.hpp"
#include "trace/record/recorder.hpp"
#include "trace/recorded/recorded_programs.hpp"

namespace sframe_gen::trace {

namespace {

void say(const char* kind, const std::string& what) {
  std::cerr << "sframe-trace: " << kind << ": " << what << '\n';
}

void say_error(const std::exception& failure) {
  const bool is_memory = dynamic_cast<const std::bad_alloc*>(&failure) != nullptr;
  say("error", is_memory ? "out of memory" : printable(failure.what()));
}

std::string list_of(const std::vector<int>& numbers) {
  std::string list;
  for (const int number : numbers) list.append(list.empty() ? "" : ", ").append(std::to_string(number));
  return list;
}

/// For the title of a picture, and for messages: a command beside processes or the machine only tells for how long.
std::string what_is_recorded(const TraceOptions& options) {
  const record::RecordOptions& record = options.record;
  if (record.all) return "the whole machine";
  if (!record.processors.empty()) return "processor " + list_of(record.processors);
  if (!record.processes.empty()) return "process " + list_of(record.processes);
  std::string command;
  for (const std::string& word : options.command) command.append(command.empty() ? "" : " ").append(word);
  return command;
}

/// A recording, as the options want it told and reported.
class RecordRun {
 public:
  RecordRun(const TraceOptions& options, std::ostream& out)
      : options_(options),
        out_(out),
        picture_(begin_picture(options)),
        recorder_(options.record, options.command,
                  {.translation = options.translation,
                   .frame_pointers = options.frame_pointers,
                   .most_frames = options.most_frames,
                   .earlier_samples = options.earlier_samples},
                  picture_ ? picture_->folder() : "", [this](const recorded::Sample& sample) {
                    if (sample.has_user_stack) totals_.add(sample.user, walk::cut_of(sample.user));
                  }) {}

  int run();

 private:
  /// The recording is read at the end, and has no name.
  bool reports() const { return options_.record.output.empty(); }
  void end_with(const std::exception_ptr& failure);
  void say_begun();
  void say_lost() const;
  void say_all() const;
  void report();
  void save_what_there_is();

  const TraceOptions& options_;
  std::ostream& out_;
  std::optional<OutputFile> picture_;
  report::StackTotals totals_;
  record::Recorder recorder_;
};

int RecordRun::run() {
  const std::exception_ptr failure = recorder_.run([this] { say_begun(); });
  record::RecordedCommand* const command = recorder_.command();
  if (failure) {
    if (recorder_.is_kept()) save_what_there_is();
    end_with(failure);
    return live::cannot_be_traced;
  }
  // A command that cannot be run leaves everything as it is.
  if (!recorder_.is_kept()) return command->wait();
  try {
    if (reports()) report();
  } catch (...) {
    end_with(std::current_exception());
    return live::cannot_be_traced;
  }
  say_all();
  if (command != nullptr) return command->wait();
  return recorder_.samples() != 0 ? 0 : 1;
}

void RecordRun::say_begun() {
  const record::RecordOptions& record = options_.record;
  if (options_.quiet) return;
  const std::string& sampled = recorder_.events().request().kinds.front().name;
  if (!record.stacks_asked.empty()) say("note", record.stacks_asked + " is not needed: stacks are always recorded");
  if (record.events.size() == 1 && sampled != record.events.front())
    say("note", record.events.front() + " is not counted by this machine: " + sampled + " is sampled");
  // A command has the terminal itself.
  if (recorder_.command() != nullptr || ::isatty(STDERR_FILENO) == 0) return;
  std::cerr << "sframe-trace: recording " << what_is_recorded(options_) << " (Ctrl-C ends it)\n";
}

/// The command goes on without the recorder, which ends with it as usual.
void RecordRun::end_with(const std::exception_ptr& failure) {
  if (recorder_.command() == nullptr) std::rethrow_exception(failure);
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& known) {
    say_error(known);
  }
  recorder_.command()->wait();
}

/// By the files that programs have mapped, which are open.
void RecordRun::report() {
  record::ProgramFiles& files = recorder_.files();
  report_own_recording(recorder_.output().map(), files.root(),
                       {.code = [&files](const walk::Mapping& mapping) { return files.open(mapping); },
                        .jitdump = [&files](const walk::Mapping& mapping) { return files.open_text(mapping); }},
                       options_, out_, picture_);
}

/// After a failure.
void RecordRun::save_what_there_is() {
  if (!reports()) return say("note", printable(recorder_.output().path().string()) + ": has what was written before");
  try {
    report();
    say("note", "what was recorded before was printed or drawn");
  } catch (const std::exception& failure) {
    say_error(failure);
  }
}

/// By kind, as one program's mappings take no room from samples, and by the ring.
void RecordRun::say_lost() const {
  record::LostRecords all;
  std::string samples, others;
  for (const auto& [processor, lost] : recorder_.lost()) {
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
  const bool is_small = recorder_.are_rings_small();
  const char* const more = "allow more memory for them (`sudo sysctl kernel.perf_event_mlock_kb=65536`), or ";
  if (all.samples != 0) {
    say("warning", std::to_string(all.samples) + " samples lost, of " +
                       std::to_string(all.samples + recorder_.samples()) + " (" + samples +
                       "): there was no room for them (" + (is_small ? more : "") + "lower -F" +
                       (is_small ? ")" : " or --stack)"));
  }
  if (all.others != 0) {
    say("warning", count_of(all.others, "record") + " of mappings, names and threads lost (" + others +
                       "): a program made them too fast (what is mapped was read from /proc)");
  }
}

void RecordRun::say_all() const {
  if (!recorder_.events().note().empty()) say("note", recorder_.events().note());
  say_lost();
  if (options_.quiet) return;
  totals_.write(std::cerr);
  if (recorder_.samples() == 0)
    say("note", "no samples: nothing that was recorded ran (sframe-trace PID shows where a process waits)");
  if (reports()) return;
  std::cerr << printable(options_.record.output.string()) << ": " << count_of(recorder_.samples(), "sample") << ", "
            << count_of(recorder_.output().size(), "byte") << '\n';
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
    const int status = RecordRun(own, out).run();
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
