#include "launch/process.hpp"

#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

namespace sframe_gen::launch {

namespace {

/// Those that a terminal, a build system or a shutdown sends to end a build. A terminal sends them to the command too:
/// a second one does no harm.
constexpr std::array ending_signals{SIGINT, SIGTERM, SIGHUP, SIGQUIT};

volatile std::sig_atomic_t child = 0;
volatile std::sig_atomic_t signal_received = 0;

void pass_on(int number) {
  const int error_number = errno;
  signal_received = number;
  if (child > 0) ::kill(child, number);
  errno = error_number;
}

/// Passes signals on for as long as it lives.
class PassingOn {
 public:
  PassingOn() {
    struct sigaction action {};
    action.sa_handler = pass_on;
    for (std::size_t i = 0; i < ending_signals.size(); ++i) {
      ::sigaction(ending_signals[i], nullptr, &before_[i]);
      // Who ignores them (nohup) goes on ignoring them.
      if (before_[i].sa_handler != SIG_IGN) ::sigaction(ending_signals[i], &action, nullptr);
    }
  }
  ~PassingOn() {
    for (std::size_t i = 0; i < ending_signals.size(); ++i) ::sigaction(ending_signals[i], &before_[i], nullptr);
  }
  PassingOn(const PassingOn&) = delete;
  PassingOn& operator=(const PassingOn&) = delete;

 private:
  std::array<struct sigaction, ending_signals.size()> before_{};
};

std::vector<char*> pointers_to(const std::vector<std::string>& command) {
  std::vector<char*> pointers;
  pointers.reserve(command.size() + 1);
  // exec's argument is not const for reasons of history: it changes nothing.
  for (const std::string& argument : command) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

int wait_for(pid_t process) {
  int status = 0;
  while (::waitpid(process, &status, 0) < 0) {
    if (errno != EINTR) throw SystemFailure("compiler", "wait for it", errno);
  }
  return status;
}

/// Ends as the command did, so that the caller sees what the command would have shown it, without a second core file.
[[noreturn]] void end_by(int number) {
  constexpr rlimit none{};
  ::setrlimit(RLIMIT_CORE, &none);
  std::signal(number, SIG_DFL);
  sigset_t unblocked;
  sigemptyset(&unblocked);
  sigaddset(&unblocked, number);
  ::sigprocmask(SIG_UNBLOCK, &unblocked, nullptr);
  std::raise(number);
  ::_exit(128 + number);
}

}  // namespace

CannotStart::CannotStart(const std::string& program, int error_number)
    : SystemFailure(program, "run it", error_number), exit_status_(error_number == ENOENT ? 127 : 126) {}

void become(const std::vector<std::string>& command) {
  ::execvp(command.front().c_str(), pointers_to(command).data());
  throw CannotStart(command.front(), errno);
}

int run(const std::vector<std::string>& command) {
  int status = 0;
  {
    const PassingOn passing_on;
    pid_t process = 0;
    // Handlers do not outlive exec, so the command starts with the signals as they were.
    const int error =
        ::posix_spawnp(&process, command.front().c_str(), nullptr, nullptr, pointers_to(command).data(), environ);
    if (error != 0) throw CannotStart(command.front(), error);
    child = process;
    if (signal_received != 0) ::kill(process, signal_received);  // It came before there was anyone to pass it on to.
    status = wait_for(process);
    child = 0;
  }
  if (WIFSIGNALED(status)) end_by(WTERMSIG(status));
  if (signal_received != 0) end_by(signal_received);
  return WEXITSTATUS(status);
}

}  // namespace sframe_gen::launch
