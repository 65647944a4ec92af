// What a walk by rows does not do: it calls none of the functions that this program counts, makes no system call, and
// takes little more of the stack than the original.

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unwind.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "../unwind/recurse.hpp"

extern "C" void* __libc_malloc(std::size_t size);  // NOLINT(bugprone-reserved-identifier): glibc's

namespace {

unsigned long calls, calls_within;
bool is_first;

#if defined(__x86_64__)
constexpr char first_version[] = "GLIBC_2.2.5";
#else
constexpr char first_version[] = "GLIBC_2.17";
#endif

template <typename Function>
Function* next(const char* name, const char* version) {
  return reinterpret_cast<Function*>(::dlvsym(RTLD_NEXT, name, version));
}

}  // namespace

// They stand before the C library's.
extern "C" {
// An allocator may walk within its first call, as jemalloc does to have libgcc ready, and holds its lock then.
void* malloc(std::size_t size) {
  ++calls;
  calls_within += is_first ? 1 : 0;
  if (calls == 1) {
    is_first = true;
    _Unwind_Backtrace([](_Unwind_Context*, void*) { return _URC_NO_REASON; }, nullptr);
    is_first = false;
  }
  return __libc_malloc(size);
}
int dl_iterate_phdr(int (*callback)(dl_phdr_info*, std::size_t, void*), void* data) {
  ++calls;
  return next<decltype(::dl_iterate_phdr)>("dl_iterate_phdr", first_version)(callback, data);
}
void* dlsym(void* handle, const char* name) noexcept {
  ++calls;
  return next<decltype(::dlsym)>("dlsym", "GLIBC_2.34")(handle, name);
}
int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  ++calls;
  return next<decltype(::pthread_mutex_lock)>("pthread_mutex_lock", first_version)(mutex);
}
}

namespace {

/// Before the library is prepared.
void allocate_early(int, char**, char**) {
  void* const allocated = malloc(1);
  asm volatile("" : : "r"(allocated));
}
[[gnu::section(".preinit_array"), gnu::used]] void (*const early)(int, char**, char**) = allocate_early;

bool good = true;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::printf("%s FAILED\n", what);
  good = false;
}

using Backtrace = int (*)(void**, int);
using UnwindBacktrace = _Unwind_Reason_Code (*)(_Unwind_Trace_Fn, void*);

Backtrace walk_pcs = &::backtrace;
UnwindBacktrace walk_contexts = &::_Unwind_Backtrace;
int frames;

_Unwind_Reason_Code count_frame(_Unwind_Context* context, void*) {
  if (_Unwind_GetIP(context) != 0 && _Unwind_GetCFA(context) != 0) ++frames;
  return _URC_NO_REASON;
}

_Unwind_Reason_Code ask_frame(_Unwind_Context* context, void*) {
  if (_Unwind_GetIP(context) == 0) return _URC_NO_REASON;
  if (_Unwind_GetRegionStart(context) != 0) ++frames;
#if defined(__x86_64__)
  asm volatile("" : : "r"(_Unwind_GetGR(context, 3)));
#endif
  return _URC_NO_REASON;
}

void by_pcs() {
  void* pcs[64];
  frames = walk_pcs(pcs, 64);
}
void by_contexts() {
  frames = 0;
  walk_contexts(count_frame, nullptr);
}
void by_questions() {
  frames = 0;
  walk_contexts(ask_frame, nullptr);
}

void walk() {
  by_pcs();
  const int by_both = frames;
  by_contexts();
  frames = frames < by_both ? frames : by_both;
}

void call_nothing() {
  recurse<40>(40, walk);
  const unsigned long before = calls;
  recurse<40>(40, walk);
  expect(frames > 40, "frames");
  expect(calls == before, "a walk that calls nothing");
}

/// The kernel ends a thread that makes a call, other than four.
void make_no_system_call() {
  const pid_t child = ::fork();
  if (child == 0) {
    recurse<40>(40, walk);
    if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) ::_exit(2);
    recurse<40>(40, walk);
    ::syscall(SYS_exit, frames > 40 ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a walk without system calls");
}

/// Bytes of its own stack that a signal's handler uses for a walk.
void (*in_handler)();
std::size_t stack_used(void (*action)()) {
  alignas(4096) static unsigned char bytes[65536];
  constexpr unsigned char paint = 0xa5;
  in_handler = action;
  stack_t stack{};
  stack.ss_sp = bytes;
  stack.ss_size = sizeof bytes;
  ::sigaltstack(&stack, nullptr);
  struct sigaction handler = {};
  handler.sa_handler = [](int) { in_handler(); };
  handler.sa_flags = SA_ONSTACK;
  ::sigaction(SIGUSR1, &handler, nullptr);
  std::size_t used = 0;
  for (int turn = 0; turn != 2; ++turn) {  // the first one binds functions
    std::memset(bytes, paint, sizeof bytes);
    recurse<40>(40, [] { std::raise(SIGUSR1); });
    const unsigned char* lowest = bytes;
    while (*lowest == paint) ++lowest;
    used = static_cast<std::size_t>(bytes + sizeof bytes - lowest);
  }
  stack.ss_flags = SS_DISABLE;
  ::sigaltstack(&stack, nullptr);
  return used;
}

void use_little_stack() {
  void* const libc = ::dlopen("libc.so.6", RTLD_LAZY);
  void* const libgcc = ::dlopen("libgcc_s.so.1", RTLD_LAZY);
  const struct {
    const char* name;
    void (*action)();
  } walks[] = {{"backtrace()", by_pcs}, {"_Unwind_Backtrace()", by_contexts}, {"with questions", by_questions}};
  for (const auto& each : walks) {
    walk_pcs = &::backtrace;
    walk_contexts = &::_Unwind_Backtrace;
    const std::size_t ours = stack_used(each.action);
    const int our_frames = frames;
    walk_pcs = reinterpret_cast<Backtrace>(::dlsym(libc, "backtrace"));
    walk_contexts = reinterpret_cast<UnwindBacktrace>(::dlsym(libgcc, "_Unwind_Backtrace"));
    const std::size_t theirs = stack_used(each.action);
    std::printf("%s: %zu bytes of stack, the original %zu\n", each.name, ours, theirs);
    expect(ours <= theirs + 1024 && frames == our_frames && frames > 40, each.name);
  }
}

}  // namespace

int main() {
  expect(calls > 0 && calls_within == 0, "an allocator's first call");
  void* pc[1];
  ::backtrace(pc, 1);  // the first call is the original's
  call_nothing();
  make_no_system_call();
  use_little_stack();
  return good ? 0 : 1;
}
