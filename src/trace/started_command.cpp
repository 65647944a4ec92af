#include "trace/started_command.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "sframe_gen/error.hpp"

namespace sframe_gen::trace {

namespace {

/// What comes to the end of a program that has been told to end. Whoever ignores one goes on doing so.
constexpr std::array passed_on{SIGINT, SIGTERM, SIGHUP};

bool is_ignored(int signal) {
  struct sigaction action {};
  ::sigaction(signal, nullptr, &action);
  return action.sa_handler == SIG_IGN;
}

std::array<int, 2> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw SystemFailure("the command", "start", errno);
  return ends;
}

[[noreturn]] void become(const std::vector<std::string>& command, const SignalsToTake& signals, int begin,
                         int failure) {
  constexpr int cannot_be_run = 127;
  char word = 0;
  if (::read(begin, &word, 1) != 1) ::_exit(cannot_be_run);
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  // exec's argument is not const for reasons of history: it changes nothing.
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  signals.restore();
  ::execvp(arguments.front(), arguments.data());
  const int error = errno;
  if (::write(failure, &error, sizeof error) < 0) ::_exit(cannot_be_run);
  ::_exit(cannot_be_run);
}

}  // namespace

SignalsToTake::SignalsToTake() {
  // Who starts us may ignore SIGCHLD: then the kernel would keep no exit status for us.
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  ::sigaction(SIGCHLD, &action, &child_before_);
  // A reader of our report that is gone must not end us before the command.
  action.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &action, &pipe_before_);
  ::sigemptyset(&taken_);
  ::sigaddset(&taken_, SIGCHLD);
  // A shell has what it starts in the background ignore SIGQUIT; blocked, it comes all the same.
  ::sigaddset(&taken_, SIGQUIT);
  for (const int signal : passed_on) {
    if (!is_ignored(signal)) ::sigaddset(&taken_, signal);
  }
  ::sigprocmask(SIG_BLOCK, &taken_, &blocked_before_);
}

siginfo_t SignalsToTake::wait() const {
  siginfo_t taken{};
  while (::sigwaitinfo(&taken_, &taken) < 0) {
  }
  return taken;
}

void SignalsToTake::restore() const {
  ::sigaction(SIGCHLD, &child_before_, nullptr);
  ::sigaction(SIGPIPE, &pipe_before_, nullptr);
  ::sigprocmask(SIG_SETMASK, &blocked_before_, nullptr);
}

StartedCommand::StartedCommand(const std::vector<std::string>& command, const SignalsToTake& signals) {
  const auto [begin_read, begin_write] = make_pipe();
  const auto [failure_read, failure_write] = make_pipe();
  begin_ = begin_write;
  failure_ = failure_read;
  pid_ = ::fork();
  if (pid_ == 0) {
    ::close(begin_write);
    become(command, signals, begin_read, failure_write);
  }
  const int error = errno;
  ::close(begin_read);
  ::close(failure_write);
  if (pid_ < 0) throw SystemFailure("the command", "start", error);
}

StartedCommand::~StartedCommand() {
  if (begin_ >= 0) ::close(begin_);
  ::close(failure_);
}

void StartedCommand::begin() {
  const char word = 0;
  if (::write(begin_, &word, 1) != 1) throw SystemFailure("the command", "start", errno);
  ::close(begin_);
  begin_ = -1;
}

int StartedCommand::why_not_run() const {
  int error = 0;
  return ::read(failure_, &error, sizeof error) == sizeof error ? error : 0;
}

}  // namespace sframe_gen::trace
