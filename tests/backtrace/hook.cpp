// Compares walks in any program, from its calls of malloc() and from a timer's signals: tools/proofs/compare-backtraces
// loads it by LD_PRELOAD, after the library. COMPARE_EVERY: every how many calls of malloc(); COMPARE_TIMER:
// microseconds of CPU between two signals, 0 for none.

#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include "compare.hpp"

extern "C" void* __libc_malloc(std::size_t size);  // NOLINT(bugprone-reserved-identifier): glibc's

namespace {

unsigned long every, count;
bool is_ready;
[[gnu::tls_model("initial-exec")]] thread_local bool is_inside;

void compare_once() {
  if (!is_ready || is_inside) return;
  is_inside = true;
  const int kept = errno;
  compare::all();
  errno = kept;
  is_inside = false;
}

unsigned long number_of(const char* name, unsigned long otherwise) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::strtoul(text, nullptr, 10) : otherwise;
}

[[gnu::constructor]] void begin() {
  every = number_of("COMPARE_EVERY", 100);
  is_inside = true;
  is_ready = compare::begin();
  is_inside = false;
  const auto timer = static_cast<suseconds_t>(number_of("COMPARE_TIMER", 4000));
  if (timer == 0) return;
  struct sigaction action = {};
  action.sa_handler = [](int) { compare_once(); };
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  ::sigaction(SIGPROF, &action, nullptr);
  const itimerval often{{0, timer}, {0, timer}};
  ::setitimer(ITIMER_PROF, &often, nullptr);
}

[[gnu::destructor]] void report() {
  is_inside = true;
  char line[160];
  const int length =
      std::snprintf(line, sizeof line, "compared[%d]: %lu walks, %lu frames, %lu different%s\n",
                    static_cast<int>(::getpid()), compare::tally.walks.load(), compare::tally.frames.load(),
                    compare::tally.different.load(), is_ready ? "" : ", nothing stands in");
  if (length > 0 && ::write(STDERR_FILENO, line, static_cast<std::size_t>(length)) < 0) return;
}

}  // namespace

extern "C" void* malloc(std::size_t size) {
  if (__atomic_add_fetch(&count, 1, __ATOMIC_RELAXED) % (every != 0 ? every : 1) == 0) compare_once();
  return __libc_malloc(size);
}
