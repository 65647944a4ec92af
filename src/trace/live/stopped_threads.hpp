#pragma once

#include <string>
#include <vector>

#include "sframe_gen/unwind.hpp"

namespace sframe_gen::trace {

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

}  // namespace sframe_gen::trace
