#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "trace/files/output_file.hpp"
#include "trace/program/options.hpp"
#include "trace/recorded/kernel_names.hpp"
#include "trace/recorded/recorded_files.hpp"
#include "trace/recorded/recording.hpp"
#include "trace/report/flame_graph.hpp"
#include "trace/report/json_report.hpp"
#include "trace/report/pprof.hpp"
#include "trace/report/text_report.hpp"
#include "trace/report/top_functions.hpp"

namespace sframe_gen::trace {

struct WalkedThread {
  report::ThreadStack thread;
  walk::Stack stack;
};

/// Threads of a process or core file, as the options want them written.
class ThreadReport {
 public:
  ThreadReport(const TraceOptions& options, std::ostream& out) : options_(options), out_(out) {}

  void begin(int pid, const std::string& name);
  void add(const WalkedThread& walked);

  const report::StackTotals& totals() const { return totals_; }

 private:
  const TraceOptions& options_;
  std::ostream& out_;
  report::StackTotals totals_;
};

/// Samples of a recording, as the options want them written.
class SampleReport {
 public:
  /// `picture`: for the picture or profile, if options ask for one. All have to live on.
  SampleReport(const TraceOptions& options, std::ostream& out, recorded::KernelNames& kernel,
               std::optional<OutputFile>& picture)
      : options_(options), out_(out), kernel_(kernel), picture_(picture), text_(out, kernel) {}

  /// What is known of the recording. Samples are of these events.
  void set_head(report::ProfileHead head) { head_ = std::move(head); }
  /// What was recorded, for the title of a picture.
  void set_title(const std::string& title) { title_ = options_.title.empty() ? title : options_.title; }
  /// `cut`: of its stack, if that is not whole.
  void add(const recorded::Sample& sample, const std::optional<walk::StackEnd>& cut);
  /// What is written when all samples have come.
  void finish();

  const report::StackTotals& totals() const { return totals_; }

 private:
  const TraceOptions& options_;
  std::ostream& out_;
  recorded::KernelNames& kernel_;
  std::optional<OutputFile>& picture_;
  report::StackTotals totals_;
  std::string title_;
  report::ProfileHead head_;
  std::size_t folded_event_ = 0;
  report::FoldedStacks folded_;
  report::PprofProfile pprof_;
  std::map<std::size_t, report::TopFunctions> tops_;  ///< by event
  report::SampleText text_;
};

/// Begins the picture or profile that the options ask for. Throws SystemFailure, or Refused.
std::optional<OutputFile> begin_picture(const TraceOptions& options);

/// Warns, in one line, of files that .gnu_debugaltlink leads to and that are not here.
void warn_of_missing(const walk::MissingAlternates& alternates);

/// Writes what the options ask for of a recording that was just made, as far as rights allow that it keeps: those to
/// write it. `kept_open`: the files of its programs. Throws Failure.
void report_own_recording(MappedFile recording, const FileRoot& root, recorded::KeptOpen kept_open,
                          const TraceOptions& options, std::ostream& out, std::optional<OutputFile>& picture);

/// What the options ask for, written to `out`; messages go to standard error. Throws Failure. Returns the exit status.
int run(const TraceOptions& options, std::ostream& out);

/// Becomes options.command, and has a process beside it write the stacks of its threads to standard error when a signal
/// ends it and when SIGQUIT asks for them. Comes back, with an exit status, only if the command cannot be traced or
/// run.
int run_command(const TraceOptions& options);

/// Records samples, walks their stacks at once, and writes a perf.data file or what else the options ask for. Throws
/// Failure. Returns the exit status: a command's own, if it has run.
int run_record(const TraceOptions& options, std::ostream& out);

}  // namespace sframe_gen::trace
