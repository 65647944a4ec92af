#include "trace/record/recorded_command.hpp"

#include <fcntl.h>
#include <grp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <utility>

#include "command_line/options.hpp"
#include "sframe_gen/error.hpp"
#include "trace/live/command.hpp"

namespace sframe_gen::trace::record {

namespace {

/// Null: it is not there.
const char* in_environment(const char* name) {
  return ::getenv(name);  // NOLINT(concurrency-mt-unsafe): there is one thread
}

std::optional<unsigned> number_in_environment(const char* name) {
  const char* const value = in_environment(name);
  return value == nullptr ? std::nullopt : command_line::number_of<unsigned>(value);
}

/// Under sudo, becomes the user that called it. False: it cannot.
bool become_user_of_sudo() {
  const bool is_sudo = in_environment("SUDO_UID") != nullptr || in_environment("SUDO_GID") != nullptr;
  if (::geteuid() != 0 || !is_sudo) return true;
  const auto user = number_in_environment("SUDO_UID"), group = number_in_environment("SUDO_GID");
  if (!user || !group) return false;
  const gid_t groups[]{*group};
  return ::setgroups(1, groups) == 0 && ::setgid(*group) == 0 && ::setuid(*user) == 0;
}

/// Becomes the command, or returns a status.
int run(const std::vector<std::string>& command, bool as_root) {
  if (as_root || become_user_of_sudo()) return live::become(command);
  std::cerr << "sframe-trace: error: the command: cannot become the user that called sudo (use --as-root)\n";
  return live::cannot_be_traced;
}

/// What is read from, and what is written to.
std::pair<Descriptor, Descriptor> new_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw SystemFailure("the command", "start", errno);
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

}  // namespace

RecordedCommand::RecordedCommand(const std::vector<std::string>& command, bool as_root) {
  auto [go, tell_to_go] = new_pipe();
  auto [failed, tell_failure] = new_pipe();
  go_ = std::move(tell_to_go);
  failed_ = std::move(failed);
  process_ = ::fork();
  if (process_ < 0) throw SystemFailure("the command", "start", errno);
  if (process_ != 0) return;
  go_.close();
  sigset_t none{};
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  char word = 0;
  const bool may_go = ::read(go.number(), &word, 1) == 1;
  const int status = may_go ? run(command, as_root) : live::cannot_be_traced;
  static_cast<void>(!::write(tell_failure.number(), &word, 1));
  ::_exit(status);
}

RecordedCommand::~RecordedCommand() {
  go_.close();
  if (!status_) wait_with(WNOHANG);
}

void RecordedCommand::begin() {
  const char word = 1;
  if (::write(go_.number(), &word, 1) != 1) throw SystemFailure("the command", "start", errno);
  go_.close();
}

std::optional<int> RecordedCommand::wait_with(int options) {
  int status = 0;
  pid_t ended = 0;
  do ended = ::waitpid(process_, &status, options);
  while (ended < 0 && errno == EINTR);
  constexpr int by_signal = 128;
  if (ended == process_) status_ = WIFEXITED(status) ? WEXITSTATUS(status) : by_signal + WTERMSIG(status);
  return status_;
}

std::optional<int> RecordedCommand::status() {
  return status_ ? status_ : wait_with(WNOHANG);
}

int RecordedCommand::wait() {
  go_.close();
  return status_ ? *status_ : wait_with(0).value_or(live::cannot_be_traced);
}

bool RecordedCommand::has_run() {
  go_.close();
  // The other end is closed when the process becomes the command, or ends.
  char word = 0;
  return ::read(failed_.number(), &word, 1) == 0;
}

}  // namespace sframe_gen::trace::record
