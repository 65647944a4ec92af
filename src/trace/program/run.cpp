#include "trace/program/run.hpp"

#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "command_line/program.hpp"
#include "sframe_gen/error.hpp"
#include "support/bytes.hpp"
#include "support/mapped_file.hpp"
#include "support/text.hpp"
#include "support/workers.hpp"
#include "trace/files/rights.hpp"
#include "trace/live/process.hpp"
#include "trace/live/threads.hpp"
#include "trace/recorded/call_chain_file.hpp"
#include "trace/recorded/core_file.hpp"
#include "trace/recorded/recorded_files.hpp"
#include "trace/recorded/recording.hpp"
#include "trace/report/flame_graph.hpp"
#include "trace/report/json_report.hpp"
#include "trace/report/text_report.hpp"
#include "trace/walk/kernel_registers.hpp"

namespace sframe_gen::trace {

void ThreadReport::begin(int pid, const std::string& name) {
  if (options_.form == OutputForm::Text) report::write_process(out_, pid, name);
}

void ThreadReport::add(const WalkedThread& walked) {
  const auto& [thread, stack] = walked;
  const bool is_missing = !thread.missing.empty();
  const std::optional<walk::StackEnd> cut = is_missing ? std::nullopt : walk::cut_of(stack);
  if (is_missing) {
    totals_.add_missing("thread " + thread.missing);
  } else {
    totals_.add(stack, cut);
  }
  if (options_.form == OutputForm::Json) return report::write_json(out_, thread, stack, cut);
  report::write_thread(out_, thread.thread, thread.name, thread.signal);
  if (is_missing) {
    out_ << "    " << thread.missing << '\n';
  } else {
    report::write_stack(out_, stack, cut);
  }
}

namespace {

int end_with(const report::StackTotals& totals, const TraceOptions& options) {
  if (!options.quiet) totals.write(std::cerr);
  return totals.stacks() != 0 && totals.different() == 0 ? 0 : 1;
}

/// The threads stand still for as long as their stacks are walked, and no longer: files are opened before, and names
/// looked up after. Where rows must be made from code, they are walked again with these. The calling thread must end
/// then: the kernel releases threads that were told to stop and have not stopped yet only when their tracer ends.
std::vector<WalkedThread> walk_threads(live::Process& process, walk::AddressSpace& space, const TraceOptions& options) {
  std::vector<WalkedThread> walked;
  walk::Walker walker(options.most_frames, options.compare, options.frame_pointers, walk::host_abi());
  const live::StoppedThreads stopped([&] { return process.threads(); });
  process.forget_memory();
  for (const live::StoppedThreads::Thread& thread : stopped.threads()) {
    WalkedThread& now = walked.emplace_back();
    now.thread = {.process = process.pid(),
                  .thread = thread.id,
                  .name = process.name_of_thread(thread.id),
                  .missing = thread.why_not};
    if (thread.why_not.empty()) {
      now.stack = walker.walk(space, thread.registers, live::Process::read_word, &process);
    }
  }
  return walked;
}

FileRoot root_of(const TraceOptions& options) {
  return options.root ? FileRoot(*options.root) : FileRoot();
}

void warn(const std::string& what) {
  std::cerr << "sframe-trace: warning: " << what << '\n';
}

void warn(const std::string& file, const std::string& what) {
  warn(file + ": " + what);
}

void warn_of(const walk::PerfMaps& maps) {
  for (const std::string& refused : maps.refused()) warn(refused);
}

constexpr const char* was_cut_short = "cut short (what is there was walked)";

int run_process(const TraceOptions& options, std::ostream& out) {
  walk::MissingAlternates missing_alternates;
  walk::TranslationOptions translation = options.translation;
  translation.source.missing_alternates = &missing_alternates;
  live::Process process(options.process, translation);
  walk::AddressSpace before = process.address_space();
  before.find_all_rows();
  // It may have loaded others since: files stay open, so that what is known of the old ones costs nothing again.
  walk::AddressSpace space = process.address_space();
  space.find_all_rows();
  std::vector<WalkedThread> walked;
  walk::CodeBudget no_code;
  walk::CodeBudget& code = translation.code ? *translation.code : no_code;
  code.waits = true;
  do {
    call_in_own_thread([&] { walked = walk_threads(process, space, options); });
  } while (code.prove_waiting());
  ThreadReport report(options, out);
  report.begin(process.pid(), process.name());
  for (const WalkedThread& thread : walked) report.add(thread);
  warn_of(process.perf_maps());
  warn_of_missing(missing_alternates);
  return end_with(report.totals(), options);
}

/// Keeps the rights that the output needs. What is read from then on is of others.
void keep_rights_for(const TraceOptions& options, const std::optional<OutputFile>& picture) {
  std::vector<std::filesystem::path> writable;
  std::error_code ignored;
  if (!options.call_chains.empty()) {
    const std::filesystem::path written = std::filesystem::absolute(options.call_chains, ignored);
    writable.push_back(std::filesystem::weakly_canonical(written.parent_path(), ignored));
  }
  if (picture && !picture->folder().empty()) writable.push_back(picture->folder());
  if (!options.translation.cache.empty()) {
    std::filesystem::create_directories(options.translation.cache, ignored);
    writable.push_back(options.translation.cache);
  }
  if (options.debuginfod) {
    std::filesystem::create_directories(walk::Debuginfod::cache(), ignored);
    writable.push_back(walk::Debuginfod::cache());
  }
  give_up_rights(writable);
}

int run_core(const TraceOptions& options, std::ostream& out) {
  const FileRoot root = root_of(options);
  keep_rights_for(options, std::nullopt);
  walk::MissingAlternates missing_alternates;
  walk::TranslationOptions translation = options.translation;
  translation.source.missing_alternates = &missing_alternates;
  recorded::CoreFile core(options.file, root, options.program, translation);
  walk::AddressSpace space = core.address_space();
  walk::Walker walker(options.most_frames, options.compare, options.frame_pointers, core.abi());
  ThreadReport report(options, out);
  report.begin(core.pid(), core.name());
  for (const recorded::CoreFile::Thread& thread : core.threads()) {
    report.add(
        {.thread =
             {.process = core.pid(), .thread = thread.id, .name = core.name(), .signal = thread.signal, .missing = {}},
         .stack = walker.walk(space, thread.registers, recorded::CoreFile::read_word, &core)});
  }
  core.check_is_whole();
  warn_of(core.perf_maps());
  warn_of_missing(missing_alternates);
  if (core.is_cut()) warn(core.file_name(), was_cut_short);
  return end_with(report.totals(), options);
}

recorded::KernelNames kernel_names(const TraceOptions& options, const perf::PerfDataFile& recording) {
  if (options.kernel_symbols.empty()) return recorded::running_kernel_names(recording);
  return recorded::KernelNames(recorded::read_list(options.kernel_symbols));
}

/// Samples by time, and all records, each sample's after it.
void walk_all(recorded::Recording& recording, const TraceOptions& options, const recorded::Recording::TakeSample& take,
              const std::function<void(const perf::PerfRecord&)>& take_record = {}) {
  const std::uint64_t records = recording.file().records().size();
  walk::Walker walker(options.most_frames, options.compare, options.frame_pointers, recording.file().abi());
  // Text and JSON are printed meanwhile, which shows as much on the same terminal.
  const bool prints_meanwhile = (options.form == OutputForm::Text || options.form == OutputForm::Json) &&
                                options.flame_graph.empty() && options.pprof.empty() && options.call_chains.empty();
  command_line::Progress progress(!options.quiet && !(prints_meanwhile && ::isatty(STDOUT_FILENO) != 0));
  recording.walk_all(
      walker, take,
      [&](std::uint64_t done) {
        progress.show_line(std::to_string(done * 100 / records) + " % of " + std::to_string(records) + " records");
      },
      take_record);
  check_is_whole(recording.file().mapped().bytes(), recording.file().name());
}

/// What there is to say of a recording that was read.
void warn_of(const recorded::Recording& recording, const report::StackTotals& totals) {
  const perf::PerfDataFile& file = recording.file();
  if (file.is_cut()) warn(file.name(), was_cut_short);
  if (recording.unknown() != 0)
    warn(file.name(), count_of(recording.unknown(), "record") + " of unknown types passed over (of a newer Linux?)");
  if (totals.stacks() == 0 && recording.left_out() != 0) {
    warn(file.name(), "none of its " + count_of(recording.left_out(), "sample") + " is chosen");
  } else if (totals.as_recorded() != 0 && file.has_kernel_chains()) {
    warn(file.name(),
         "callers in programs are perf's, by frame pointers (for whole stacks, use `sframe-trace record` or "
         "`perf record --call-graph dwarf`)");
  } else if (totals.stacks() != totals.as_recorded() && !file.has_stacks()) {
    warn(file.name(),
         "no registers of programs, and so no callers (use `sframe-trace record` or "
         "`perf record --call-graph dwarf`)");
  }
}

/// "perf record ./program", which is in the feature HEADER_CMDLINE; empty: it is not there, or damaged, which is
/// worth no error.
std::string recorded_command(const perf::PerfDataFile& file) {
  constexpr unsigned command_line_feature = 11;
  constexpr std::size_t longest = 100;
  const auto feature = file.all_features().find(command_line_feature);
  if (feature == file.all_features().end()) return {};
  std::string words;
  try {
    const InputOrigin origin{file.name(), "command line"};
    ByteReader reader(feature->second, file.endian(), origin);
    for (std::uint32_t left = reader.u32("number of words"); left > 0 && words.size() < longest; --left)
      words.append(" ").append(text_before_zero(reader.take(reader.u32("length"), "word")));
  } catch (const Failure&) {
    return {};
  }
  if (words.empty()) return {};
  return printable(std::string_view(words).substr(1, longest)) + (words.size() > longest ? ".." : "");
}

/// Nanoseconds from the recording's clock to that since 1970: HEADER_CLOCK_DATA, or else the date of the file, which is
/// written until its last record. None: it is neither there.
std::optional<std::int64_t> wall_minus_time(const perf::PerfDataFile& file, bool is_stream) {
  constexpr unsigned clock_data = 29;
  const auto feature = file.all_features().find(clock_data);
  try {
    if (feature != file.all_features().end()) {
      const InputOrigin origin{file.name(), "clock"};
      ByteReader reader(feature->second, file.endian(), origin);
      reader.u32("version");
      reader.u32("clock");
      const std::uint64_t wall = reader.u64("time since 1970");
      return static_cast<std::int64_t>(wall - reader.u64("time of the clock"));
    }
  } catch (const Failure&) {
    return std::nullopt;
  }
  if (is_stream || file.records().empty()) return std::nullopt;
  constexpr std::int64_t ns_in_s = 1'000'000'000;
  const FileIdentity& identity = file.mapped().identity();
  return identity.modified_s * ns_in_s + identity.modified_ns - static_cast<std::int64_t>(file.records().back().time);
}

report::StackTotals print_samples(recorded::Recording& recording, const TraceOptions& options, std::ostream& out,
                                  std::optional<OutputFile>& picture) {
  recorded::KernelNames kernel = kernel_names(options, recording.file());
  kernel.compare_with(recording.kernel_mark());
  SampleReport report(options, out, kernel, picture);
  const std::string command = recorded_command(recording.file());
  report.set_head({recording.events(), command, wall_minus_time(recording.file(), options.file == "-")});
  report.set_title(options.file.filename().string() + (command.empty() ? "" : " (" + command + ")"));
  walk_all(recording, options, [&](const recorded::Sample& sample) { report.add(sample, walk::cut_of(sample.user)); });
  report.finish();
  if (kernel.are_of_another_start()) {
    warn(recording.file().name(),
         "kernel restarted since, so its functions have no names (give its list with --kallsyms)");
  }
  return report.totals();
}

/// Writes the recording again, with call chains.
report::StackTotals write_call_chains(recorded::Recording& recording, const TraceOptions& options) {
  const perf::PerfDataFile& file = recording.file();
  recorded::CallChainFile written(file, options.call_chains);
  report::StackTotals totals;
  const recorded::Sample* sample = nullptr;
  walk_all(
      recording, options,
      [&](const recorded::Sample& walked) {
        sample = &walked;
        if (walked.has_user_stack) totals.add(walked.user, walk::cut_of(walked.user));
      },
      [&](const perf::PerfRecord& record) {
        if (record.type != perf::record_type::sample) return written.add(record);
        if (sample != nullptr) written.add_sample(record, *sample);
        sample = nullptr;
      });
  written.finish();
  if (written.cut() != 0) {
    warn(options.call_chains.string(),
         std::to_string(written.cut()) + " stacks are longer than a record can be (lower --frames)");
  }
  if (!options.quiet) {
    std::cerr << printable(options.call_chains.string()) << ": " << count_of(written.samples(), "sample") << ", "
              << count_of(written.size(), "byte") << '\n';
  }
  return totals;
}

std::unique_ptr<walk::Debuginfod> make_debuginfod(const TraceOptions& options) try {
  if (!options.debuginfod) return std::make_unique<walk::Debuginfod>();
  auto progress = std::make_shared<command_line::Progress>(!options.quiet);
  return std::make_unique<walk::Debuginfod>([progress](const std::string& line) {
    if (line.empty()) return progress->clear();
    progress->show_line(line);
  });
} catch (const Refused& refused) {
  throw command_line::UsageError(refused.what());
}

void warn_of(const walk::Debuginfod& debuginfod, bool is_quiet) {
  if (debuginfod.interrupted() != 0) warn(count_of(debuginfod.interrupted(), "download") + " interrupted");
  if (debuginfod.over_limit() != 0) {
    warn(count_of(debuginfod.over_limit(), "download") +
         " ended, since a file may have 4 GB, and all downloads take 30 minutes (what was fetched is kept)");
  }
  if (!is_quiet && debuginfod.missing() != 0 && walk::Debuginfod::has_servers()) {
    std::cerr << "sframe-trace: " << count_of(debuginfod.missing(), "file")
              << " without symbols, or not here (--debuginfod asks the servers of DEBUGINFOD_URLS)\n";
  }
}

std::string names_of(const std::vector<recorded::SampledEvent>& events) {
  std::string names;
  for (const recorded::SampledEvent& event : events) names.append(names.empty() ? "" : ", ").append(event.name);
  return names;
}

/// Pictures and folded text do not tell events apart.
void choose(recorded::Recording& recording, const TraceOptions& options) {
  const std::vector<recorded::SampledEvent> events = recording.events();
  const std::string file = printable(recording.file().name());
  if (!recording.choose(options.choice))
    throw UsageError(file + ": no event " + printable(options.choice.event) + " (it has " + names_of(events) + ")");
  if (options.form != OutputForm::Folded && options.flame_graph.empty()) return;
  std::vector<recorded::SampledEvent> shown;
  for (const std::size_t number : recording.events_with_samples()) shown.push_back(events[number]);
  if (shown.size() > 1)
    throw UsageError(file + ": samples of several events (choose one with --event: " + names_of(shown) + ")");
}

recorded::Recording recording_of(MappedFile file, recorded::RecordedFiles& files) {
  return {std::move(file), [&files](const walk::Mapping& mapping) { return files.open(mapping); },
          [&files](const walk::Mapping& mapping) { return files.jit_code(mapping); }};
}

void expect(recorded::RecordedFiles& files, const perf::PerfDataFile& recording) {
  files.expect(recording.abi(), recording.mapped().identity(), recording.has_monotonic_times());
}

void warn_of_code(const recorded::RecordedFiles& files) {
  warn_of(files.perf_maps());
  for (const std::string& refused : files.refused_jitdumps()) warn(refused);
}

int run_recording(const TraceOptions& options, std::ostream& out) {
  // What is over the limit on the size of files is a failure then, and what was written is removed.
  std::signal(SIGXFSZ, SIG_IGN);
  const FileRoot root = root_of(options);
  const std::unique_ptr<walk::Debuginfod> debuginfod = make_debuginfod(options);
  walk::TranslationOptions translation = options.translation;
  translation.debuginfod = debuginfod.get();
  walk::MissingAlternates missing_alternates;
  translation.source.missing_alternates = &missing_alternates;
  recorded::RecordedFiles files(root, translation);
  MappedFile file_of_recording = perf::map_recording(options.file);
  std::optional<OutputFile> picture = begin_picture(options);
  keep_rights_for(options, picture);
  recorded::Recording recording = recording_of(std::move(file_of_recording), files);
  choose(recording, options);
  if (options.earlier_samples) recording.use_earlier_samples();
  expect(files, recording.file());
  const report::StackTotals totals = options.call_chains.empty() ? print_samples(recording, options, out, picture)
                                                                 : write_call_chains(recording, options);
  warn_of(recording, totals);
  const int status = end_with(totals, options);
  warn_of_code(files);
  warn_of(*debuginfod, options.quiet);
  warn_of_missing(missing_alternates);
  if (!files.relabeled().empty()) {
    warn(files.relabeled().front(),
         "has a new link, name, owner or mode since the recording, as " + count_of(files.relabeled().size(), "file") +
             " in all; used, as no content has changed by its time (`perf record --buildid-mmap` makes sure)");
  }
  return status;
}

}  // namespace

void SampleReport::add(const recorded::Sample& sample, const std::optional<walk::StackEnd>& cut) {
  if (sample.has_user_stack) totals_.add(sample.user, cut);
  if (options_.form == OutputForm::Folded || !options_.flame_graph.empty()) {
    folded_event_ = sample.event;
    return folded_.add(kernel_, sample);
  }
  if (!options_.pprof.empty()) return pprof_.add(kernel_, sample);
  if (options_.form == OutputForm::Json)
    return report::write_json(out_, kernel_, sample, head_.events[sample.event], cut);
  if (options_.form == OutputForm::Top) return tops_[sample.event].add(kernel_, sample);
  text_.add(sample, head_.events[sample.event], cut);
}

void SampleReport::finish() {
  text_.finish();
  if (!options_.pprof.empty()) picture_->write([&](std::ostream& out) { pprof_.write(out, head_); });
  if (options_.form == OutputForm::Folded) folded_.write(out_, options_.folds_periods);
  if (options_.form == OutputForm::Top && tops_.empty()) tops_[0];
  for (const char* between = ""; const auto& [event, top] : tops_) {
    out_ << std::exchange(between, "\n");
    top.write(out_, head_.events[event], options_.top);
  }
  if (options_.flame_graph.empty()) return;
  const report::FlameGraphStyle style{title_, head_.events[folded_event_].unit(), options_.has_roots_below};
  picture_->write([&](std::ostream& out) { report::write_flame_graph(out, folded_, style); });
}

std::optional<OutputFile> begin_picture(const TraceOptions& options) {
  const std::filesystem::path& path = options.pprof.empty() ? options.flame_graph : options.pprof;
  return path.empty() ? std::nullopt : std::make_optional<OutputFile>(path);
}

void warn_of_missing(const walk::MissingAlternates& alternates) {
  if (alternates.empty()) return;
  const auto& [path, file] = *alternates.begin();
  const std::size_t more = alternates.size() - 1;
  warn(file, "no inlined calls and lines, as " + path + " (.gnu_debugaltlink) is not here" +
                 (more == 0 ? "" : ", nor " + count_of(more, "other file")) + " (--no-inlines)");
}

void report_own_recording(MappedFile recorded, const FileRoot& root, recorded::KeptOpen kept_open,
                          const TraceOptions& options, std::ostream& out, std::optional<OutputFile>& picture) {
  keep_rights_for(options, picture);
  recorded::RecordedFiles files(root, options.translation, std::move(kept_open));
  recorded::Recording recording = recording_of(std::move(recorded), files);
  expect(files, recording.file());
  print_samples(recording, options, out, picture);
  warn_of_code(files);
}

int run(const TraceOptions& options, std::ostream& out) {
  switch (options.source) {
    case Source::Process:
      return run_process(options, out);
    case Source::Core:
      return run_core(options, out);
    case Source::Command:
      return run_command(options);
    case Source::Record:
      return run_record(options, out);
    case Source::Recording:
    case Source::Help:
    case Source::RecordHelp:
    case Source::Version:  // none of which main() asks for
      return run_recording(options, out);
  }
  return 0;
}

}  // namespace sframe_gen::trace
