#include "trace/live/threads.hpp"

#include <elf.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <fstream>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "sframe_gen/error.hpp"
#include "trace/walk/kernel_registers.hpp"

namespace sframe_gen::trace::live {

namespace {

/// One set of a stopped thread's registers; empty where there is none.
std::vector<std::byte> register_set(int thread, std::uintptr_t set) {
  std::vector<std::byte> bytes(1024);
  iovec room{bytes.data(), bytes.size()};
  if (ask_ptrace(PTRACE_GETREGSET, thread, set, reinterpret_cast<std::uintptr_t>(&room)) != 0) return {};
  bytes.resize(room.iov_len);
  return bytes;
}

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
    thread.why_not = other_architecture;
  }
}

}  // namespace

long ask_ptrace(__ptrace_request request, int thread, std::uintptr_t address, std::uintptr_t data) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg,performance-no-int-to-ptr): as ptrace(2) wants it
  return ::ptrace(request, thread, reinterpret_cast<void*>(address), reinterpret_cast<void*>(data));
}

std::optional<unwind::Registers> registers_of(int thread) {
  auto registers = walk::general_registers(walk::host_abi(), register_set(thread, NT_PRSTATUS));
  if (registers && walk::host_abi() == sframe::Abi::S390x) {
    walk::add_floating_point_registers(walk::host_abi(), register_set(thread, NT_PRFPREG), *registers);
  }
  // Other stops have no siginfo, or one that tells what they are.
  if (const auto signal = signal_of(thread); registers && signal) {
    walk::add_signal(walk::host_abi(), std::as_bytes(std::span(&*signal, 1)), *registers);
  }
  return registers;
}

std::optional<siginfo_t> signal_of(int thread) {
  siginfo_t signal{};
  if (ask_ptrace(PTRACE_GETSIGINFO, thread, 0, reinterpret_cast<std::uintptr_t>(&signal)) != 0) return std::nullopt;
  return signal;
}

bool is_zombie(int thread) {
  std::ifstream file("/proc/" + std::to_string(thread) + "/stat");
  std::string line;
  std::getline(file, line);
  // A name may have any characters in it.
  return line.find(") Z ", line.rfind(')')) != std::string::npos;
}

int event_of(int status) {
  constexpr unsigned event_shift = 16;
  return static_cast<int>(static_cast<unsigned>(status) >> event_shift);
}

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

}  // namespace sframe_gen::trace::live
