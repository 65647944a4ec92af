#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <exception>
#include <functional>
#include <iostream>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "sframe_gen/error.hpp"
#include "support/text.hpp"
#include "trace/live/command.hpp"
#include "trace/live/process.hpp"
#include "trace/live/threads.hpp"
#include "trace/program/run.hpp"
#include "trace/walk/kernel_registers.hpp"

namespace sframe_gen::trace {

namespace {

void complain(const char* kind, const std::exception& failure) {
  std::cerr << "sframe-trace: " << kind << ": " + printable(failure.what()) + "\n";
}

/// As fork(), but at its end this process gets no signal, which it might find later where it has SIGCHLD blocked.
int fork_without_signal() {
  // All arguments are 0, so that their order, in which architectures differ, does not matter.
  return static_cast<int>(::syscall(SYS_clone, 0, 0, 0, 0, 0));  // NOLINT(cppcoreguidelines-pro-type-vararg)
}

constexpr int first_other_than_standard = STDERR_FILENO + 1;

/// Another descriptor of the same file, none of those that this process may have been started without. Throws
/// SystemFailure.
int above_standard(int descriptor) {
  const int above = ::fcntl(  // NOLINT(cppcoreguidelines-pro-type-vararg)
      descriptor, F_DUPFD_CLOEXEC, first_other_than_standard);
  const int error = errno;
  ::close(descriptor);
  if (above < 0) throw SystemFailure("the command", "start", error);
  return above;
}

/// What the two agree by before they part.
class Agreement {
 public:
  /// Throws SystemFailure.
  Agreement();
  ~Agreement();
  Agreement(const Agreement&) = delete;
  Agreement& operator=(const Agreement&) = delete;

  /// The one beside: this one may go on, or not, and why is said. Leaves it no file but standard error open.
  void say(bool yes);
  /// This one. None: the other one has ended without a word.
  std::optional<bool> wait();

 private:
  int hears_ = -1, says_ = -1;  ///< ends of a pipe
};

Agreement::Agreement() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw SystemFailure("the command", "start", errno);
  hears_ = above_standard(ends[0]);
  says_ = above_standard(ends[1]);
}

Agreement::~Agreement() {
  if (hears_ >= 0) ::close(hears_);
  if (says_ >= 0) ::close(says_);
}

void Agreement::say(bool yes) {
  // A process that reads from these, or writes to them, must notice when the command has closed them.
  const int nothing = ::open("/dev/null", O_RDWR);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO}) ::dup2(nothing, stream);
  // So that no file is opened in the place of one that is closed, and gets the stacks.
  if (::fcntl(STDERR_FILENO, F_GETFD) < 0) ::dup2(nothing, STDERR_FILENO);  // NOLINT(cppcoreguidelines-pro-type-vararg)
  ::dup2(says_, first_other_than_standard);
  ::closefrom(first_other_than_standard + 1);
  hears_ = -1;
  says_ = -1;
  const char word = yes ? 1 : 0;
  // If no process reads it, there is no command to trace.
  if (::write(first_other_than_standard, &word, 1) != 1) ::_exit(1);
  ::close(first_other_than_standard);
}

std::optional<bool> Agreement::wait() {
  ::close(says_);
  says_ = -1;
  char word = 0;
  ssize_t got = 0;
  do got = ::read(hears_, &word, 1);
  while (got < 0 && errno == EINTR);
  return got == 1 ? std::optional(word != 0) : std::nullopt;
}

/// Runs `work`, and nothing else, in a process of its own. It is not a child of this process, so wait() does not
/// report it, and it has a session of its own, so terminals send it no signals. Throws SystemFailure.
void run_beside(const std::function<void()>& work) {
  const int parent = fork_without_signal();
  if (parent < 0) throw SystemFailure("the command", "start", errno);
  if (parent != 0) {
    while (::waitpid(parent, nullptr, __WALL) < 0 && errno == EINTR) {
    }
    return;
  }
  ::setsid();
  if (::fork() == 0) work();
  ::_exit(0);
}

/// Signals of the process beside the command.
class SignalsToTake {
 public:
  SignalsToTake() {
    // Our parent may ignore these, or block others. What ends a whole group or service (systemd's stop) ends the
    // command: that is to be reported yet.
    set_action(SIGCHLD, SIG_DFL);
    for (const int signal : {SIGPIPE, SIGHUP, SIGINT, SIGTERM}) set_action(signal, SIG_IGN);
    ::sigemptyset(&taken_);
    ::sigaddset(&taken_, SIGCHLD);
    ::sigaddset(&taken_, SIGQUIT);
    ::sigprocmask(SIG_SETMASK, &taken_, nullptr);
  }

  /// Returns the next signal: SIGCHLD if the command changed state, SIGQUIT if a user asks for its stacks.
  int wait() const {
    int taken = 0;
    while (::sigwait(&taken_, &taken) != 0) {
    }
    return taken;
  }

 private:
  static void set_action(int signal, void (*action)(int)) {
    struct sigaction wanted {};
    wanted.sa_handler = action;
    ::sigaction(signal, &wanted, nullptr);
  }

  sigset_t taken_{};
};

class TracedCommand {
 public:
  /// Throws SystemFailure, if the process cannot be traced.
  TracedCommand(const TraceOptions& options, int command)
      : options_(options), translation_(options.translation), command_(command), threads_(command) {
    translation_.source.missing_alternates = &missing_alternates_;
  }

  /// Until it ends.
  void run() {
    for (;;) {
      while (const auto event = threads_.next()) {
        if (event->what == live::TracedThreads::What::End) return;
        take(*event);
        threads_.go_on(event->thread);
      }
      if (signals_.wait() == SIGQUIT && process_) report(0);
    }
  }

 private:
  void take(const live::TracedThreads::Event& event) {
    if (event.what == live::TracedThreads::What::Exec) {
      // Files and memory are others now. Before, it was a copy of this program, which is not of interest.
      process_.emplace(command_, translation_);
      was_ended_ = false;
      if (std::exchange(is_asked_again_, false)) report(0);
    } else if (process_ && asks(event)) {
      threads_.keep_signal_from(event.thread);
      report(0);
    } else if (process_ && !was_ended_ && process_->is_ended_by(event.status)) {
      was_ended_ = true;
      report(event.thread);
    }
  }

  /// Whether it is a SIGQUIT that some other process has sent. A command that handles the signal gets it (Java's
  /// virtual machine prints stacks of its own). One from a terminal or from the command itself does not count.
  bool asks(const live::TracedThreads::Event& event) const {
    if (event.status != SIGQUIT || process_->handles(SIGQUIT)) return false;
    const auto signal = live::signal_of(event.thread);
    return signal && signal->si_code <= 0 && signal->si_pid != command_;
  }

  /// `first`: the thread that has got a signal; 0: none.
  void report(int first) try {
    walk::AddressSpace space = process_->address_space();
    if (first == 0) space.find_all_rows();
    // In one piece, as the command may write there as well.
    std::ostringstream text;
    ThreadReport report(options_, text);
    report.begin(process_->pid(), process_->name());
    const std::vector<WalkedThread> walked = walk_with_rows_from_code(space, first);
    if (is_asked_again_) return;
    for (const WalkedThread& thread : walked) report.add(thread);
    if (!options_.quiet) report.totals().write(text);
    std::cerr << text.str() << std::flush;
    warn_of_missing(missing_alternates_);
    missing_alternates_.clear();
  } catch (const std::exception& failure) {
    complain("warning", failure);
  }

  /// A command that goes on stands still only for the walks. Where rows must be made from code, it is walked again.
  std::vector<WalkedThread> walk_with_rows_from_code(walk::AddressSpace& space, int first) {
    walk::CodeBudget no_code;
    walk::CodeBudget& code = translation_.code ? *translation_.code : no_code;
    code.waits = first == 0;
    for (;;) {
      std::vector<WalkedThread> walked = walk_all(space, first);
      if (is_asked_again_ || !code.prove_waiting()) return walked;
    }
  }

  std::vector<WalkedThread> walk_all(walk::AddressSpace& space, int first) {
    std::vector<WalkedThread> walked;
    walk::Walker walker(options_.most_frames, options_.compare, options_.frame_pointers, walk::host_abi());
    process_->forget_memory();
    const live::TracedThreads::AllStopped stopped(threads_);
    // Then the address space is no more. The new program is walked as soon as it is there.
    is_asked_again_ = threads_.has_other_program();
    if (is_asked_again_) return walked;
    for (const auto& [id, thread] : stopped.threads()) {
      WalkedThread now;
      now.thread = {.process = process_->pid(),
                    .thread = id,
                    .name = process_->name_of_thread(id),
                    .signal = thread.signal,
                    .missing = {}};
      if (!thread.is_stopped) {
        now.thread.missing = live::waits_in_kernel;
      } else if (const auto registers = live::registers_of(id)) {
        now.stack = walker.walk(space, *registers, live::Process::read_word, &*process_);
      } else {
        now.thread.missing = live::other_architecture;
      }
      walked.push_back(std::move(now));
    }
    std::stable_partition(walked.begin(), walked.end(),
                          [first](const WalkedThread& thread) { return thread.thread.thread == first; });
    return walked;
  }

  const TraceOptions& options_;
  walk::TranslationOptions translation_;
  walk::MissingAlternates missing_alternates_;
  const int command_;
  live::TracedThreads threads_;
  SignalsToTake signals_;
  std::optional<live::Process> process_;
  bool was_ended_ = false;       ///< by a signal, and everything is said
  bool is_asked_again_ = false;  ///< a user asked while it became another program
};

/// Traces the command, which waits for what `agreement` says, to its end.
void trace_beside(const TraceOptions& options, int command, Agreement& agreement) try {
  std::optional<TracedCommand> traced;
  try {
    traced.emplace(options, command);
  } catch (const Failure& failure) {
    complain("error", failure);
  }
  agreement.say(traced.has_value());
  if (traced) traced->run();
} catch (const std::exception& failure) {
  complain("error", failure);
}

/// What is written of a process is looked up in /proc.
void check_proc() {
  std::array<char, 16> name{};
  const ssize_t length = ::readlink("/proc/self", name.data(), name.size());
  const std::string seen(name.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  if (seen != std::to_string(::getpid())) throw Refused("/proc", "not of this program's PID namespace");
}

/// Has the command traced as soon as it runs. False: it cannot be, and why is said.
bool start_tracing(const TraceOptions& options) {
  check_proc();
  Agreement agreement;
  const int command = ::getpid();
  // Where only parents may trace (Yama). Elsewhere there is no such thing, and no need of it.
  ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  run_beside([&] { trace_beside(options, command, agreement); });
  const auto answer = agreement.wait();
  if (!answer) throw SystemFailure("the command", "trace", ECHILD);
  ::prctl(PR_SET_PTRACER, 0, 0, 0, 0);
  return *answer;
}

}  // namespace

int run_command(const TraceOptions& options) {
  try {
    if (!start_tracing(options)) return live::cannot_be_traced;
  } catch (const Failure& failure) {
    complain("error", failure);
    return live::cannot_be_traced;
  }
  return live::become(options.command);
}

}  // namespace sframe_gen::trace
