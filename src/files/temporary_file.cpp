#include "files/temporary_file.hpp"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <string_view>
#include <utility>

namespace sframe_gen::files {

namespace {

/// One file is written at a time; a handler may do no more than read a pointer.
std::atomic<const char*> current_path{nullptr};
static_assert(std::atomic<const char*>::is_always_lock_free);

void remove_current() {
  if (const char* const path = current_path.load()) ::unlink(path);
}

/// A mapped file got shorter, or its disk failed: the only way to tell is this signal.
void remove_and_fail(int) {
  remove_current();
  constexpr std::string_view message =
      "sframe-gen: error: a file was cut short, or its disk failed, while it was read\n";
  static_cast<void>(!::write(STDERR_FILENO, message.data(), message.size()));
  ::_exit(1);
}

void remove_and_die(int signal) {
  remove_current();
  std::signal(signal, SIG_DFL);
  ::raise(signal);
}

}  // namespace

TemporaryFile::TemporaryFile(std::string path) : path_(std::move(path)) {
  current_path = path_.c_str();
}

TemporaryFile::~TemporaryFile() {
  if (path_.empty()) return;
  current_path = nullptr;
  ::unlink(path_.c_str());
}

void TemporaryFile::forget() {
  current_path = nullptr;
  path_.clear();
}

void remove_temporary_files_on_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGALRM, SIGXCPU, SIGUSR1, SIGUSR2}) {
    // nohup and the like have it ignored on purpose.
    if (std::signal(signal, remove_and_die) == SIG_IGN) std::signal(signal, SIG_IGN);
  }
  std::signal(SIGBUS, remove_and_fail);
}

}  // namespace sframe_gen::files
