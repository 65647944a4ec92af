#pragma once

#include <csignal>
#include <string>
#include <vector>

namespace sframe_gen::trace {

/// Signals that come to this program while a command runs, and to its end: one that comes late shall not end it before
/// it has said how the command has. Its own actions are left as they are, for the command has them from here: signals
/// that somebody has us ignore (nohup) the command ignores as well.
class SignalsToTake {
 public:
  SignalsToTake();

  /// The next one: SIGCHLD where something has come of the command.
  siginfo_t wait() const;
  /// As it was before, for the command.
  void restore() const;

 private:
  sigset_t taken_{}, blocked_before_{};
  struct sigaction child_before_ {
  }, pipe_before_{};
};

/// A process that becomes the command as soon as it is told to: somebody may want to trace it from the begin.
class StartedCommand {
 public:
  StartedCommand(const std::vector<std::string>& command, const SignalsToTake& signals);
  /// If it has not begun yet, it never does.
  ~StartedCommand();
  StartedCommand(const StartedCommand&) = delete;
  StartedCommand& operator=(const StartedCommand&) = delete;

  int pid() const { return pid_; }
  void begin();
  /// When it is over: why it could not be run; 0: it was.
  int why_not_run() const;

 private:
  int pid_ = 0;
  int begin_ = -1, failure_ = -1;  ///< our ends of two pipes
};

}  // namespace sframe_gen::trace
