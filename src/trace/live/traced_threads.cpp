#include "trace/live/traced_threads.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "sframe_gen/error.hpp"
#include "trace/live/tracee.hpp"

namespace sframe_gen::trace {

TracedThreads::TracedThreads(int pid) : pid_(pid), threads_{{pid, {}}} {
  if (ask_ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC) != 0) {
    throw SystemFailure("the command", "trace", errno);
  }
}

/// PTRACE_O_TRACECLONE reports other processes as well, if clone(2) is asked for another signal than SIGCHLD at their
/// end.
bool TracedThreads::is_ours(int thread) const {
  const std::string folder = "/proc/" + std::to_string(pid_) + "/task/" + std::to_string(thread);
  return ::access(folder.c_str(), F_OK) == 0;
}

/// The first thread of a process may end before the others: waitpid() says so when they have ended too, and it never
/// stops.
void TracedThreads::forget_ended_leader() {
  const auto leader = threads_.find(pid_);
  if (leader == threads_.end() || leader->second.is_stopped) return;
  if (is_zombie(pid_)) threads_.erase(leader);
}

std::optional<TracedThreads::Event> TracedThreads::take_stop(int thread, int status) {
  if (!threads_.contains(thread) && !is_ours(thread)) {
    ask_ptrace(PTRACE_DETACH, thread, 0, 0);
    return std::nullopt;
  }
  const int signal = WSTOPSIG(status);
  Thread& now = threads_[thread];
  now = {.is_stopped = true};
  switch (event_of(status)) {
    case 0:
      now.signal = signal;
      return Event{What::Signal, thread, signal};
    case PTRACE_EVENT_STOP:
      now.is_in_group_stop = signal != SIGTRAP;
      return std::nullopt;
    case PTRACE_EVENT_CLONE: {
      unsigned long made = 0;
      ask_ptrace(PTRACE_GETEVENTMSG, thread, 0, reinterpret_cast<std::uintptr_t>(&made));
      // It stops before its first instruction, and may have been seen to do so before.
      if (is_ours(static_cast<int>(made))) threads_.try_emplace(static_cast<int>(made));
      return std::nullopt;
    }
    case PTRACE_EVENT_EXEC:
      threads_ = {{pid_, now}};
      return Event{What::Exec, pid_, 0};
    default:
      return std::nullopt;
  }
}

std::optional<TracedThreads::Event> TracedThreads::take(int thread, int status) {
  if (WIFSTOPPED(status)) return take_stop(thread, status);
  threads_.erase(thread);
  if (thread != pid_) return std::nullopt;
  return Event{What::End, thread, status};
}

std::optional<TracedThreads::Event> TracedThreads::next() {
  if (!waiting_.empty()) {
    const Event event = waiting_.front();
    waiting_.pop_front();
    return event;
  }
  for (;;) {
    int status = 0;
    const int thread = ::waitpid(-1, &status, __WALL | WNOHANG);
    if (thread == 0) return std::nullopt;
    if (thread < 0) throw SystemFailure("the command", "wait for it", errno);
    if (const auto event = take(thread, status)) return event;
    go_on(thread);
  }
}

void TracedThreads::go_on(int thread) {
  const auto found = threads_.find(thread);
  if (found == threads_.end() || !found->second.is_stopped) return;
  const Thread was = found->second;
  found->second = {};
  // Where it is being killed, this fails and there is nothing to do.
  if (was.is_in_group_stop) {
    ask_ptrace(PTRACE_LISTEN, thread, 0, 0);
  } else {
    ask_ptrace(PTRACE_CONT, thread, 0, static_cast<std::uintptr_t>(was.signal));
  }
}

void TracedThreads::keep_signal_from(int thread) {
  if (const auto found = threads_.find(thread); found != threads_.end()) found->second.signal = 0;
}

bool TracedThreads::has_other_program() const {
  return std::ranges::find(waiting_, What::Exec, &Event::what) != waiting_.end();
}

bool TracedThreads::all_are_stopped() const {
  return std::ranges::all_of(threads_, [](const auto& entry) { return entry.second.is_stopped; });
}

void TracedThreads::stop_all() {
  for (const auto& [id, thread] : threads_) {
    if (!thread.is_stopped) ask_ptrace(PTRACE_INTERRUPT, id, 0, 0);
  }
  const auto until = std::chrono::steady_clock::now() + patience;
  for (forget_ended_leader(); !all_are_stopped() && std::chrono::steady_clock::now() < until; forget_ended_leader()) {
    int status = 0;
    const int thread = ::waitpid(-1, &status, __WALL | WNOHANG);
    if (thread < 0) return;
    if (thread == 0) {
      std::this_thread::sleep_for(between_looks);
    } else if (const auto event = take(thread, status)) {
      waiting_.push_back(*event);
    }
  }
}

void TracedThreads::go_on_all() {
  std::vector<int> with_signal, others;
  for (const auto& [id, thread] : threads_) (thread.signal != 0 ? with_signal : others).push_back(id);
  // If a signal ends the process, the others come no further than without us.
  for (const std::vector<int>* ids : {&with_signal, &others}) {
    for (const int id : *ids) {
      if (std::ranges::find(waiting_, id, &Event::thread) == waiting_.end()) go_on(id);
    }
  }
}

}  // namespace sframe_gen::trace
