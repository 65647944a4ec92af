#include "trace/live/beside.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "sframe_gen/error.hpp"

namespace sframe_gen::trace {

namespace {

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

}  // namespace

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
  // Who reads from these, or writes to them, is to notice when the command has closed them.
  const int nothing = ::open("/dev/null", O_RDWR);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO}) ::dup2(nothing, stream);
  // So that no file is opened in the place of one that is closed, and gets the stacks.
  if (::fcntl(STDERR_FILENO, F_GETFD) < 0) ::dup2(nothing, STDERR_FILENO);  // NOLINT(cppcoreguidelines-pro-type-vararg)
  ::dup2(says_, first_other_than_standard);
  ::closefrom(first_other_than_standard + 1);
  hears_ = -1;
  says_ = -1;
  const char word = yes ? 1 : 0;
  // If nobody hears it, there is no command to trace.
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

}  // namespace sframe_gen::trace
