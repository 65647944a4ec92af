// Walks on stacks of every kind, whole and damaged: the first thread's, another thread's, a signal's, and those of
// coroutines, above, below and within another stack.

#include <sys/mman.h>
#include <ucontext.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "both_walks.hpp"
#include "recurse.hpp"
#include "unwind/stack_memory.hpp"

namespace {

using namespace sframe_gen::unwind;
using sframe_gen::Range;

BothWalks walks;
bool good = true;

/// 40 frames, some pages of stack.
void walk_deep(const char* what) {
  recurse<300>(40, [] { walk_both(walks); });
  good &= agree(what, walks, 41);
}

void on_signal(int) {
  walk_both(walks);
}

/// The handler's stack, and the one below it.
void walk_from_handler(const char* what) {
  recurse<300>(20, [] { std::raise(SIGUSR1); });
  good &= agree(what, walks, 21);
}

ucontext_t outside, inside;

void in_coroutine() {
  walk_deep("a coroutine");
  walk_from_handler("a handler that interrupts it");
}

void run_on(void* stack, std::size_t size) {
  ::getcontext(&inside);
  inside.uc_stack.ss_sp = stack;
  inside.uc_stack.ss_size = size;
  inside.uc_link = &outside;
  ::makecontext(&inside, in_coroutine, 0);
  ::swapcontext(&outside, &inside);
}

constexpr std::size_t stack_size = std::size_t{1} << 18U;  // bytes

void* map_stack(void* place) {
  const int fixed = place != nullptr ? MAP_FIXED_NOREPLACE : 0;
  void* const stack = ::mmap(place, stack_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | fixed, -1, 0);
  if (stack == MAP_FAILED) std::exit(1);
  return stack;
}

void walk_in_coroutines() {
  void* const anywhere = map_stack(nullptr);
  run_on(anywhere, stack_size);
  ::munmap(anywhere, stack_size);
  alignas(16) char within[stack_size / 4];
  run_on(within, sizeof within);
}

/// Right below the first thread's stack, where that would grow to: between the two is not a byte.
void walk_below_main_stack() {
  const Range main_stack = find_main_stack();
  void* const below = map_stack(pointer_to(main_stack.begin - stack_size));
  good &= sframe_unwind_backtrace_prepare() == 0;
  run_on(below, stack_size);
  ::munmap(below, stack_size);
}

std::uint64_t with_frame_pointer;  ///< a PC where CFA = FP + 16, whatever there is on the stack

[[gnu::noinline]] int find_frame_pointer() {
  with_frame_pointer = reinterpret_cast<std::uint64_t>(__builtin_return_address(0));
  return 1;
}

/// As big as its caller wishes, which takes a frame pointer.
[[gnu::noinline]] int has_frame_pointer(std::size_t size) {
  asm volatile("" : : "r"(__builtin_alloca(size)) : "memory");
  const int result = find_frame_pointer();
  asm volatile("" ::: "memory");
  return result + 1;
}

/// A frame of has_frame_pointer(), interrupted, whose frame pointer is `fp`.
int stop_of_walk_from(std::uint64_t fp) {
  ucontext_t context{};
  ::getcontext(&context);
#if defined(__x86_64__)
  context.uc_mcontext.gregs[REG_RIP] = static_cast<greg_t>(with_frame_pointer);
  context.uc_mcontext.gregs[REG_RBP] = static_cast<greg_t>(fp);
#endif
  void* pcs[Frames::most];
  int stop = 0;
  sframe_unwind_backtrace_stop(pcs, Frames::most, &context, &stop);
  return stop;
}

void expect_unreadable(const char* what, std::uint64_t fp) {
  const int stop = stop_of_walk_from(fp);
  if (stop == SFRAME_UNWIND_UNREADABLE_MEMORY) return;
  std::printf("%s: %s FAILED\n", what, sframe_unwind_stop_text(stop));
  good = false;
}

/// Nothing is read that is not there, and nothing but words whose bytes all are.
void walk_damaged() {
  const Range main_stack = find_main_stack();
  void* const gone = map_stack(nullptr);
  run_on(gone, stack_size);
  ::munmap(gone, stack_size);
  // The vDSO's data may lie right behind.
  const bool ends = !is_readable(main_stack.end);
  const auto unmapped = reinterpret_cast<std::uint64_t>(gone) + stack_size;
  for (std::uint64_t i = 0; i < 32; ++i) {
    expect_unreadable("behind a coroutine that is gone", unmapped - 16 - i);
    // The return address lies at FP + 8.
    if (ends) expect_unreadable("the end of the first thread's stack", main_stack.end - 15 + i);
  }
  for (std::uint64_t i = 16; i < 4096; i += 8) {
    const int stop = stop_of_walk_from(main_stack.end - i);
    good &= stop != SFRAME_UNWIND_STEPPED;
  }
}

void walk_all(const char* what) {
  std::printf("-- %s\n", what);
  walk_deep("deep");
  walk_from_handler("from a handler");
  walk_in_coroutines();
}

void with_signal_stack(void (*action)()) {
  static char bytes[stack_size];
  stack_t stack{};
  stack.ss_sp = bytes;
  stack.ss_size = sizeof bytes;
  ::sigaltstack(&stack, nullptr);
  action();
  stack.ss_flags = SS_DISABLE;
  ::sigaltstack(&stack, nullptr);
}

}  // namespace

int main() {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_ONSTACK;
  ::sigaction(SIGUSR1, &action, nullptr);
  walk_all("before anybody has looked");
  if (sframe_unwind_backtrace_prepare() != 0) return 1;
  walk_all("the first thread");
  with_signal_stack([] { walk_all("with a stack for signals"); });
  std::thread([] {
    walk_all("another thread");
    with_signal_stack([] { walk_all("with a stack for signals"); });
  }).join();
  if (has_frame_pointer(40) != 2) return 1;
  walk_damaged();
  // The last: below it no stack can grow.
  walk_below_main_stack();
  walk_all("the first thread, again");
  sframe_unwind_backtrace_release();
  return good ? 0 : 1;
}
