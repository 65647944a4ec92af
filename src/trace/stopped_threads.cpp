#include "trace/stopped_threads.hpp"

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <system_error>
#include <thread>

#include "trace/thread_registers.hpp"

namespace sframe_gen::trace {

namespace {

using Clock = std::chrono::steady_clock;

/// A thread that waits for a device does not stop before it is answered.
constexpr auto patience = std::chrono::milliseconds(500);

std::string text_of(int error) {
  return std::generic_category().message(error);
}

long request(__ptrace_request what, int thread, std::uintptr_t address, std::uintptr_t data) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg,performance-no-int-to-ptr): as ptrace(2) wants it
  return ::ptrace(what, thread, reinterpret_cast<void*>(address), reinterpret_cast<void*>(data));
}

/// One set of a stopped thread's registers; empty where there is none.
std::vector<std::byte> register_set(int thread, std::uintptr_t set) {
  std::vector<std::byte> bytes(1024);
  iovec room{bytes.data(), bytes.size()};
  if (request(PTRACE_GETREGSET, thread, set, reinterpret_cast<std::uintptr_t>(&room)) != 0) return {};
  bytes.resize(room.iov_len);
  return bytes;
}

void read_registers(StoppedThreads::Thread& thread) {
  const auto registers = general_registers(host_abi(), register_set(thread.id, NT_PRSTATUS));
  if (!registers) {
    thread.why_not = "is of another machine than this program";
    return;
  }
  thread.registers = *registers;
  if (host_abi() == sframe::Abi::S390x) {
    add_floating_point_registers(host_abi(), register_set(thread.id, NT_PRFPREG), thread.registers);
  }
}

/// What `status` says of a thread that was waited for.
void take_stop(StoppedThreads::Thread& thread, int status) {
  if (!WIFSTOPPED(status)) {
    thread.why_not = "has ended";
    return;
  }
  // With an event in the bits above, the stop is of our making; else a signal has come, which must not be lost.
  constexpr unsigned event_shift = 16;
  if (static_cast<unsigned>(status) >> event_shift == 0) thread.signal = WSTOPSIG(status);
  read_registers(thread);
}

}  // namespace

sframe::Abi host_abi() {
#if defined __x86_64__
  return sframe::Abi::Amd64;
#elif defined __aarch64__ && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  return sframe::Abi::Aarch64Little;
#elif defined __aarch64__
  return sframe::Abi::Aarch64Big;
#elif defined __s390x__
  return sframe::Abi::S390x;
#else
#error "no SFrame ABI"
#endif
}

void StoppedThreads::seize(Thread& thread) {
  if (request(PTRACE_SEIZE, thread.id, 0, 0) != 0) {
    thread.why_not = errno == ESRCH ? "has ended" : "cannot be stopped: " + text_of(errno);
    return;
  }
  if (request(PTRACE_INTERRUPT, thread.id, 0, 0) != 0) thread.why_not = "has ended";
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
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    if (waited == thread.id) {
      take_stop(thread, status);
    } else {
      thread.why_not = waited == 0 ? "does not stop, as it waits in the kernel" : "has ended";
    }
  }
}

StoppedThreads::~StoppedThreads() {
  // One that has not stopped yet cannot be let go by hand; the kernel does so when the thread ends that traces it.
  for (const Thread& thread : threads_) {
    request(PTRACE_DETACH, thread.id, 0, static_cast<std::uintptr_t>(thread.signal));
  }
}

}  // namespace sframe_gen::trace
