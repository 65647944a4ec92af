#include "trace/live/stopped_threads.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>

#include "trace/live/tracee.hpp"

namespace sframe_gen::trace {

namespace {

using Clock = std::chrono::steady_clock;

std::string text_of(int error) {
  return std::generic_category().message(error);
}

/// What `status` says of a thread that was waited for.
void take_stop(StoppedThreads::Thread& thread, int status) {
  if (!WIFSTOPPED(status)) {
    thread.why_not = "has ended";
    return;
  }
  if (event_of(status) == 0) thread.signal = WSTOPSIG(status);
  if (const auto registers = registers_of(thread.id)) {
    thread.registers = *registers;
  } else {
    thread.why_not = other_machine;
  }
}

}  // namespace

void StoppedThreads::seize(Thread& thread) {
  if (ask_ptrace(PTRACE_SEIZE, thread.id, 0, 0) != 0) {
    const int error = errno;
    thread.why_not = error == ESRCH || is_zombie(thread.id) ? "has ended" : "cannot be stopped: " + text_of(error);
    return;
  }
  if (ask_ptrace(PTRACE_INTERRUPT, thread.id, 0, 0) != 0) thread.why_not = "has ended";
}

bool StoppedThreads::seize_new(const std::vector<int>& ids) {
  bool found_new = false;
  for (const int id : ids) {
    const auto place = std::ranges::lower_bound(threads_, id, {}, &Thread::id);
    if (place != threads_.end() && place->id == id) continue;
    found_new = true;
    seize(*threads_.insert(place, Thread{.id = id, .why_not = {}, .registers = {}}));
  }
  return found_new;
}

void StoppedThreads::wait_for_all() {
  const auto until = Clock::now() + patience;
  for (Thread& thread : threads_) {
    if (!thread.why_not.empty() || thread.was_waited_for) continue;
    thread.was_waited_for = true;
    int status = 0;
    int waited = 0;
    while ((waited = ::waitpid(thread.id, &status, __WALL | WNOHANG)) == 0 && Clock::now() < until) {
      std::this_thread::sleep_for(between_looks);
    }
    if (waited == thread.id) {
      take_stop(thread, status);
    } else {
      thread.why_not = waited == 0 ? waits_in_kernel : "has ended";
    }
  }
}

StoppedThreads::~StoppedThreads() {
  // One that has not stopped yet cannot be let go by hand; the kernel does so when the thread ends that traces it.
  for (const Thread& thread : threads_) {
    ask_ptrace(PTRACE_DETACH, thread.id, 0, static_cast<std::uintptr_t>(thread.signal));
  }
}

}  // namespace sframe_gen::trace
