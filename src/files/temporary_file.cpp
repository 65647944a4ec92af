#include "files/temporary_file.hpp"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <ctime>
#include <string_view>
#include <utility>

namespace sframe_gen::files {

namespace {

/// The files that are being written, each by a thread of its own. A handler may do no more than read pointers; a file
/// that finds no slot free is removed by its destructor only.
std::array<std::atomic<const char*>, 256> current_paths{};
static_assert(std::atomic<const char*>::is_always_lock_free);

std::atomic<const char*>* take_slot(const char* path) {
  for (std::atomic<const char*>& slot : current_paths) {
    const char* expected = nullptr;
    if (slot.compare_exchange_strong(expected, path)) return &slot;
  }
  return nullptr;
}

/// How many threads are about to make a file, and whether the program is about to end: each looks at the other's after
/// it has said its own.
std::atomic<int> making{0};
std::atomic<bool> is_ending{false};

void remove_current() {
  is_ending = true;
  constexpr timespec moment{0, 100'000};
  while (making > 0) ::nanosleep(&moment, nullptr);
  for (const std::atomic<const char*>& slot : current_paths)
    if (const char* const path = slot.load()) ::unlink(path);
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

MakingFile::MakingFile() {
  sigset_t ending;
  ::sigfillset(&ending);
  // What a thread does to itself cannot wait.
  for (const int signal : {SIGBUS, SIGSEGV, SIGILL, SIGFPE, SIGABRT}) ::sigdelset(&ending, signal);
  ::pthread_sigmask(SIG_BLOCK, &ending, &before_);
  ++making;
  if (!is_ending) return;
  --making;
  for (;;) ::pause();
}

MakingFile::~MakingFile() {
  --making;
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

TemporaryFile::TemporaryFile(std::string path) : path_(std::move(path)), slot_(take_slot(path_.c_str())) {}

TemporaryFile::~TemporaryFile() {
  if (path_.empty()) return;
  leave_slot();
  ::unlink(path_.c_str());
}

void TemporaryFile::forget() {
  leave_slot();
  path_.clear();
}

void TemporaryFile::leave_slot() {
  if (slot_ != nullptr) *slot_ = nullptr;
  slot_ = nullptr;
}

void remove_temporary_files_on_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGALRM, SIGXCPU, SIGUSR1, SIGUSR2}) {
    // nohup and the like have it ignored on purpose.
    if (std::signal(signal, remove_and_die) == SIG_IGN) std::signal(signal, SIG_IGN);
  }
  std::signal(SIGBUS, remove_and_fail);
}

}  // namespace sframe_gen::files
