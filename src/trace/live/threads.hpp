#pragma once

#include <sys/ptrace.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sframe_gen/unwind.hpp"

/// What ptrace(2) asks of and says of a thread, for those who stop threads.
namespace sframe_gen::trace::live {

/// As ptrace() itself, whose last two arguments are pointers or numbers.
long ask_ptrace(__ptrace_request request, int thread, std::uintptr_t address, std::uintptr_t data);

/// Returns the registers of a stopped thread, or none if it runs code of another architecture than this program.
std::optional<unwind::Registers> registers_of(int thread);

/// Returns the siginfo of a thread that a signal has stopped.
std::optional<siginfo_t> signal_of(int thread);

/// Why there is nothing to walk.
inline constexpr const char* other_architecture = "of another architecture than this program";
inline constexpr const char* waits_in_kernel = "does not stop, as it waits in the kernel";

/// A thread that waits for a device, or for its vfork, does not stop before it is answered.
inline constexpr std::chrono::milliseconds patience{500};
inline constexpr std::chrono::microseconds between_looks{100};

/// Whether the thread has ended and its parent has not waited for it: a process's first, until the others have ended.
bool is_zombie(int thread);

/// PTRACE_EVENT_… of a stop, as waitpid() says it; 0: a signal has come, which must not be lost.
int event_of(int status);

/// Threads of a process that stand still as long as this object lives (ptrace(2), PTRACE_SEIZE: their parent sees
/// nothing of it). They go on where they were, with the signals that came in between, also if this program is killed. A
/// system call that waits goes on waiting, but for those few that any stop interrupts (signal(7), epoll_wait for one).
/// One that would not stop in time is let go when the thread ends that has made this object.
class StoppedThreads {
 public:
  struct Thread {
    int id = 0;
    /// Empty: it stands still, and its registers are known. Else what came in between ("has ended").
    std::string why_not;
    unwind::Registers registers;
    int signal = 0;  ///< that came as it was stopped, and is handed on when it goes on
    bool was_waited_for = false;
  };

  /// Those that `list` names, until it names no new ones: a thread may make others before it stands still.
  template <typename List>
  explicit StoppedThreads(List list) {
    for (int round = 0; round < most_rounds && seize_new(list()); ++round) wait_for_all();
  }
  ~StoppedThreads();
  StoppedThreads(const StoppedThreads&) = delete;
  StoppedThreads& operator=(const StoppedThreads&) = delete;

  /// In ascending order.
  const std::vector<Thread>& threads() const { return threads_; }

 private:
  /// A process may make threads faster than they are stopped.
  static constexpr int most_rounds = 1000;

  bool seize_new(const std::vector<int>& ids);
  void wait_for_all();
  void seize(Thread& thread);

  std::vector<Thread> threads_;
};

/// The threads of a process, traced to its end (ptrace(2), PTRACE_SEIZE), and those it makes. Other processes that it
/// makes are not. If this program is killed, the other goes on untraced.
class TracedThreads {
 public:
  struct Thread {
    bool is_stopped = false;
    bool is_in_group_stop = false;  ///< SIGSTOP or the like: it must not go on before SIGCONT
    int signal = 0;                 ///< that has come, and is handed on when it goes on
  };

  enum class What : std::uint8_t { Signal, Exec, End };
  struct Event {
    What what;
    int thread;
    int status;  ///< the signal; of an end, as waitpid() says it
  };

  /// Throws SystemFailure.
  explicit TracedThreads(int pid);

  /// What has happened next; none if nothing has. Its thread stands still until it is told to go on.
  std::optional<Event> next();
  void go_on(int thread);
  /// What has come to it is not handed on.
  void keep_signal_from(int thread);
  /// Whether next() will say so of it: what is known of its memory is of the one before.
  bool has_other_program() const;

  /// All stand still while this lives, but for those that wait in the kernel. What happens in between, next() says
  /// later.
  class AllStopped {
   public:
    explicit AllStopped(TracedThreads& threads) : threads_(threads) { threads_.stop_all(); }
    ~AllStopped() { threads_.go_on_all(); }
    AllStopped(const AllStopped&) = delete;
    AllStopped& operator=(const AllStopped&) = delete;
    const std::map<int, Thread>& threads() const { return threads_.threads_; }

   private:
    TracedThreads& threads_;
  };

 private:
  std::optional<Event> take(int thread, int status);
  std::optional<Event> take_stop(int thread, int status);
  bool is_ours(int thread) const;
  void forget_ended_leader();
  bool all_are_stopped() const;
  void stop_all();
  void go_on_all();

  int pid_;
  std::map<int, Thread> threads_;
  std::deque<Event> waiting_;  ///< that came while all were being stopped
};

}  // namespace sframe_gen::trace::live
