// CPU time of one call, in nanoseconds: tools/measure/benchmark-backtrace runs it with and without the library.
// usage: backtrace-benchmark pcs | contexts | throws FRAMES

#include <execinfo.h>
#include <unwind.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <stdexcept>

namespace {

constexpr int most = 256;

double cpu_time() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

_Unwind_Reason_Code add_pc(_Unwind_Context* context, void* data) {
  auto& count = *static_cast<int*>(data);
  asm volatile("" : : "r"(_Unwind_GetIP(context)));
  return ++count == most ? _URC_END_OF_STACK : _URC_NO_REASON;
}

int frames;
int by_pcs() {
  void* pcs[most];
  return ::backtrace(pcs, most);
}
int by_contexts() {
  int count = 0;
  _Unwind_Backtrace(add_pc, &count);
  return count;
}
[[gnu::noinline]] void throw_from(int depth) {
  if (depth == 0) throw std::runtime_error("thrown");
  throw_from(depth - 1);
  asm volatile("");
}
int by_throws() {
  try {
    throw_from(10);
  } catch (const std::exception&) {
    return 10;
  }
  return 0;
}

/// The least of several turns, after those that find rows for the first time.
void measure(int (*walk)(), int calls) {
  double least = 1e18;
  for (int turn = 0; turn != 12; ++turn) {
    const double begin = cpu_time();
    for (int i = 0; i != calls; ++i) frames = walk();
    least = std::min(least, (cpu_time() - begin) / calls);
  }
  std::printf("%.1f %d\n", least, frames);
}

[[gnu::noinline]] int recurse(int depth, int (*walk)(), int calls) {
  if (depth <= 0) {
    measure(walk, calls);
  } else {
    recurse(depth - 1, walk, calls);
  }
  asm volatile("");
  return depth;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  const int wished = std::atoi(arguments[2]);
  const bool throws = std::strcmp(arguments[1], "throws") == 0;
  auto* const walk = throws ? by_throws : std::strcmp(arguments[1], "pcs") == 0 ? by_pcs : by_contexts;
  // Above recurse() are main and what calls it; below it measure() and the function that walks.
  recurse(wished - 6, walk, throws ? 300 : 3000);
  return 0;
}
