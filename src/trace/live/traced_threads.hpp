#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>

namespace sframe_gen::trace {

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

}  // namespace sframe_gen::trace
