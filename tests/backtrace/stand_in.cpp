// Walks of every kind, each compared with the original at the same moment, under LD_PRELOAD of libsframe-backtrace.
// usage: backtrace-stand-in SECONDS PLUGIN

#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "../unwind/recurse.hpp"
#include "compare.hpp"

namespace {

using Clock = std::chrono::steady_clock;
Clock::time_point end;
bool good = true;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::printf("%s FAILED\n", what);
  good = false;
}

bool is_time_left() {
  return Clock::now() < end;
}

/// Every number of frames around that of a piece, and of the buffers.
void walk_depths() {
  for (int depth = 0; depth != 80; ++depth) recurse<40>(depth, compare::all);
  for (const int most : {1, 2, 15, 16, 17, 31, 32, 33, 64}) {
    static int frames;
    frames = most;
    recurse<40>(40, [] { compare::contexts(frames); });
    recurse<40>(3, [] { compare::contexts(frames); });
  }
}

struct WalksAtEnd {
  ~WalksAtEnd() { compare::all(); }
};

[[gnu::noinline]] void throw_from(int depth) {
  const WalksAtEnd walks;
  if (depth == 0) throw std::runtime_error("thrown");
  throw_from(depth - 1);
}

/// libgcc itself reads at random addresses when it walks from the last instructions of its _Unwind_Resume(), which have
/// left its frame: its call frame information does not say so. So no timer interrupts what unwinds.
class WithoutTimer {
 public:
  WithoutTimer() {
    sigset_t timer;
    sigemptyset(&timer);
    sigaddset(&timer, SIGPROF);
    ::pthread_sigmask(SIG_BLOCK, &timer, &before_);
  }
  ~WithoutTimer() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  WithoutTimer(const WithoutTimer&) = delete;
  WithoutTimer& operator=(const WithoutTimer&) = delete;

 private:
  sigset_t before_{};
};

void walk_in_exceptions() {
  const WithoutTimer without;
  try {
    throw_from(12);
  } catch (const std::exception&) {
    compare::all();
    compare::contexts(64);
  }
}

void walk_in_library() {
  std::vector<int> numbers{3, 1, 2};
  std::qsort(numbers.data(), numbers.size(), sizeof(int), [](const void* a, const void* b) {
    compare::all();
    return *static_cast<const int*>(a) - *static_cast<const int*>(b);
  });
  std::sort(numbers.begin(), numbers.end(), [](int a, int b) {
    compare::contexts(20);
    return a < b;
  });
}

void on_signal(int) {
  const int kept = errno;
  compare::all();
  errno = kept;
}

/// On a stack of the size that most programs have for it.
void walk_on_small_stack() {
#if defined(__aarch64__)
  constexpr std::size_t size = 16384;  // a signal's frame has 4,688 bytes there
#else
  constexpr std::size_t size = 8192;
#endif
  alignas(16) static thread_local char bytes[size];
  stack_t stack{};
  stack.ss_sp = bytes;
  stack.ss_size = sizeof bytes;
  ::sigaltstack(&stack, nullptr);
  struct sigaction action = {};
  action.sa_handler = [](int) { compare::pcs(); };
  action.sa_flags = SA_ONSTACK;
  ::sigaction(SIGUSR1, &action, nullptr);
  recurse<40>(5, [] { std::raise(SIGUSR1); });
  stack.ss_flags = SS_DISABLE;
  ::sigaltstack(&stack, nullptr);
}

/// Code of a compiler at run time, with no table: a function that calls its argument.
void walk_from_nowhere() {
#if defined(__x86_64__)
  static constexpr unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
  void* const page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::memcpy(page, code, sizeof code);
  ::mprotect(page, 4096, PROT_READ | PROT_EXEC);
  auto* const function = reinterpret_cast<void (*)(void (*)())>(page);
  function(compare::all);
  // More than a piece of frames above it, which are callbacks' before it is met.
  function([] { recurse<40>(40, compare::all); });
  function([] { recurse<40>(40, [] { compare::contexts(64); }); });
  ::munmap(page, 4096);
#endif
}

void walk_in_child(pid_t child, unsigned long different, const char* what) {
  if (child == 0) {
    compare::all();
    ::_exit(compare::tally.different == different ? 0 : 1);
  }
  int status = 1;
  ::waitpid(child, &status, 0);
  expect(status == 0, what);
}

void walk_in_children() {
  walk_in_child(::fork(), compare::tally.different, "a child of fork()");
  walk_in_child(::vfork(), compare::tally.different, "a child of vfork()");
}

const char* plugin;

/// Copies of the plugin, which take each other's place.
void load_and_unload() {
  while (is_time_left()) {
    void* const library = ::dlopen(plugin, RTLD_NOW);
    expect(library != nullptr, "dlopen()");
    if (library == nullptr) return;
    auto* const frame = reinterpret_cast<int (*)(int, void (*)())>(::dlsym(library, "plugin_frame"));
    frame(3, compare::all);
    frame(30, compare::all);
    ::dlclose(library);
  }
}

void* end_by_exit(void*) {
  compare::all();
  ::pthread_exit(nullptr);
}

void* wait_for_cancel(void*) {
  const WalksAtEnd walks;
  for (;;) ::pause();
}

void begin_and_end_threads() {
  const WithoutTimer without;  // threads inherit it
  while (is_time_left()) {
    std::thread(compare::all).join();
    pthread_t thread;
    if (::pthread_create(&thread, nullptr, end_by_exit, nullptr) == 0) ::pthread_join(thread, nullptr);
    if (::pthread_create(&thread, nullptr, wait_for_cancel, nullptr) != 0) continue;
    ::pthread_cancel(thread);
    ::pthread_join(thread, nullptr);
  }
}

/// Work of many kinds for a timer to interrupt.
void work() {
  std::string text;
  for (int i = 0; i != 200; ++i) {
    char line[64];
    std::snprintf(line, sizeof line, "%d %.3f", i, i / 7.0);
    text += line;
  }
  asm volatile("" : : "r"(text.data()) : "memory");
}

void walk_as_libunwind() {
  for (int depth = 0; depth != 80; ++depth) recurse<40>(depth, compare::libunwinds_pcs);
  int numbers[] = {3, 1, 2};
  std::qsort(numbers, 3, sizeof(int), [](const void* a, const void* b) {
    compare::libunwinds_pcs();
    return *static_cast<const int*>(a) - *static_cast<const int*>(b);
  });
  std::signal(SIGUSR2, [](int) { compare::libunwinds_pcs(); });
  recurse<40>(5, [] { std::raise(SIGUSR2); });
}

void walk_everywhere() {
  walk_as_libunwind();
  walk_depths();
  walk_in_exceptions();
  walk_in_library();
  walk_on_small_stack();
  walk_from_nowhere();
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  end = Clock::now() + std::chrono::milliseconds(static_cast<long>(std::atof(arguments[1]) * 1000));
  plugin = arguments[2];
  if (!compare::begin() || !compare::begin_libunwind()) {
    std::printf("nothing stands in for backtrace()\n");
    return 3;
  }
  walk_everywhere();
  walk_in_children();

  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGPROF, &action, nullptr);
  const itimerval often{{0, 4000}, {0, 4000}};
  ::setitimer(ITIMER_PROF, &often, nullptr);
  std::thread loading(load_and_unload), ending(begin_and_end_threads);
  for (int turn = 0; is_time_left(); ++turn) {
    walk_in_exceptions();
    walk_in_library();
    work();
    // Other threads may be in the dynamic loader or in a walk.
    if (turn % 100 == 0) walk_in_children();
  }
  loading.join();
  ending.join();
  const itimerval never{};
  ::setitimer(ITIMER_PROF, &never, nullptr);

  std::thread(walk_everywhere).join();
  std::printf("%lu walks, %lu frames, %lu different\n", compare::tally.walks.load(), compare::tally.frames.load(),
              compare::tally.different.load());
  return good && compare::tally.different == 0 ? 0 : 1;
}
