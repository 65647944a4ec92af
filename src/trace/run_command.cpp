#include "trace/run_command.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <exception>
#include <iostream>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "sframe_gen/error.hpp"
#include "support/text.hpp"
#include "trace/process.hpp"
#include "trace/started_command.hpp"
#include "trace/thread_report.hpp"
#include "trace/traced_threads.hpp"
#include "trace/tracee.hpp"

namespace sframe_gen::trace {

namespace {

/// As env(1) and timeout(1) have them.
constexpr int cannot_be_traced = 125, cannot_be_run = 126, not_found = 127, ended_by_signal = 128;

void complain(const char* kind, const std::exception& failure) {
  std::cerr << "sframe-trace: " << kind << ": " + printable(failure.what()) + "\n";
}

class TracedCommand {
 public:
  explicit TracedCommand(const Options& options)
      : options_(options), command_(options.command, signals_), threads_(command_.pid()) {}

  int run() {
    command_.begin();
    for (;;) {
      while (const auto event = threads_.next()) {
        if (event->what == TracedThreads::What::End) return exit_status(event->status);
        take(*event);
        threads_.go_on(event->thread);
      }
      take(signals_.wait());
    }
  }

 private:
  void take(const TracedThreads::Event& event) {
    if (event.what == TracedThreads::What::Exec) {
      // Files and memory are others now. Before, it was a copy of this program that nobody asks about.
      process_.emplace(command_.pid(), options_.translation);
      was_ended_ = false;
    } else if (process_ && !was_ended_ && process_->is_ended_by(event.status)) {
      was_ended_ = true;
      report(event.thread);
    }
  }

  void take(const siginfo_t& signal) {
    if (signal.si_signo == SIGCHLD) return;
    // What a terminal sends, the command gets from there as well.
    if (signal.si_code == SI_KERNEL) return;
    if (signal.si_signo != SIGQUIT) {
      ::kill(command_.pid(), signal.si_signo);
    } else if (process_) {
      report(0);
    }
  }

  /// `first`: the thread that has got a signal; 0: none.
  void report(int first) try {
    AddressSpace space = process_->address_space();
    if (first == 0) space.find_all_rows();
    // In one piece, as the command may write there as well.
    std::ostringstream text;
    ThreadReport report(options_, text);
    report.begin(process_->pid(), process_->name());
    for (const WalkedThread& thread : walk_all(space, first)) report.add(space, thread);
    if (!options_.quiet) report.totals().write(text);
    std::cerr << text.str() << std::flush;
  } catch (const std::exception& failure) {
    complain("warning", failure);
  }

  std::vector<WalkedThread> walk_all(AddressSpace& space, int first) {
    std::vector<WalkedThread> walked;
    Walker walker(options_.most_frames, false);
    process_->forget_memory();
    const TracedThreads::AllStopped stopped(threads_);
    for (const auto& [id, thread] : stopped.threads()) {
      WalkedThread now;
      now.thread = {.process = process_->pid(),
                    .thread = id,
                    .name = process_->name_of_thread(id),
                    .signal = thread.signal,
                    .missing = {}};
      if (!thread.is_stopped) {
        now.thread.missing = waits_in_kernel;
      } else if (const auto registers = registers_of(id)) {
        now.stack = walker.walk(space, *registers, Process::read_word, &*process_);
      } else {
        now.thread.missing = other_machine;
      }
      walked.push_back(std::move(now));
    }
    std::stable_partition(walked.begin(), walked.end(),
                          [first](const WalkedThread& thread) { return thread.thread.thread == first; });
    return walked;
  }

  int exit_status(int status) const {
    if (const int error = command_.why_not_run()) {
      complain("error", SystemFailure(options_.command.front(), "run it", error));
      return error == ENOENT ? not_found : cannot_be_run;
    }
    return WIFSIGNALED(status) ? ended_by_signal + WTERMSIG(status) : WEXITSTATUS(status);
  }

  const Options& options_;
  SignalsToTake signals_;
  StartedCommand command_;
  TracedThreads threads_;
  std::optional<Process> process_;
  bool was_ended_ = false;  ///< by a signal, and everything is said
};

}  // namespace

int run_command(const Options& options) try { return TracedCommand(options).run(); } catch (const Failure& failure) {
  complain("error", failure);
  return cannot_be_traced;
}

}  // namespace sframe_gen::trace
