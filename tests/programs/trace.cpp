// Programs whose threads come to rest at a known place, or work there ("busy"), for those who look at their stacks:
// trace MODE [NUMBER]. "ready" on standard output says that all rest.
#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace {

pthread_barrier_t all_there;
volatile sig_atomic_t signals_taken = 0;
volatile bool for_ever = true;  ///< and no compiler knows that nothing comes behind

void report() {
  const char text[] = "ready\n";
  if (write(1, text, sizeof text - 1) < 0) std::abort();
}

[[gnu::noinline]] void rest() {
  report();
  while (for_ever) pause();
}

/// A frame of a size that no compiler knows.
template <typename Last>
[[gnu::noinline]] int recurse(int depth, Last last) {
  auto* const room = static_cast<volatile char*>(__builtin_alloca(16 + static_cast<std::size_t>(depth) % 7 * 16));
  room[0] = static_cast<char>(depth);
  const int result = depth == 0 ? (last(), 0) : recurse(depth - 1, last);
  return result + room[0];
}

struct RestsOnTheWay {
  ~RestsOnTheWay() { rest(); }
};

void throw_error() {
  if (for_ever) throw std::runtime_error("to be caught, or not");
}

[[gnu::noinline]] void unwind_through(int depth) {
  const RestsOnTheWay guard;
  recurse(depth, throw_error);
}

void* wait_in_thread(void* argument) {
  recurse(*static_cast<int*>(argument), [] {
    pthread_barrier_wait(&all_there);
    while (for_ever) pause();
  });
  return nullptr;
}

void threads(int count) {
  pthread_barrier_init(&all_there, nullptr, static_cast<unsigned>(count) + 1);
  static std::vector<int> depths(static_cast<std::size_t>(count));
  int next = 0;
  for (int& depth : depths) {
    depth = next++;
    pthread_t thread{};
    if (pthread_create(&thread, nullptr, wait_in_thread, &depth) != 0) std::abort();
  }
  pthread_barrier_wait(&all_there);
  rest();
}

void handle(void (*handler)(int), int flags, int signal = SIGUSR1) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigaction(signal, &action, nullptr);
}

void use_another_stack() {
  static std::vector<char> stack(1 << 16);
  const stack_t other{stack.data(), 0, stack.size()};
  sigaltstack(&other, nullptr);
}

void in_handler(int flags) {
  use_another_stack();
  handle([](int) { recurse(3, rest); }, flags);
  recurse(5, [] { std::raise(SIGUSR1); });
}

[[gnu::noinline]] void work() {
  for (volatile int round = 0; round < 100'000'000; round = round + 1) {
  }
}

void* work_in_thread(void* depth) {
  recurse(*static_cast<int*>(depth), work);
  return nullptr;
}

/// Two threads work, one of them in a signal's handler.
void be_busy(int depth) {
  pthread_t thread{};
  if (pthread_create(&thread, nullptr, work_in_thread, &depth) != 0) std::abort();
  handle([](int) { recurse(3, work); }, 0);
  recurse(depth, [] { std::raise(SIGUSR1); });
  pthread_join(thread, nullptr);
}

[[gnu::noinline]] void write_to_nowhere() {
  static volatile char* volatile nowhere = nullptr;
  *nowhere = 1;
}

/// One thread, when all others have come to rest.
void crash(int depth, bool main_ends) {
  static int number = depth;
  pthread_barrier_init(&all_there, nullptr, 2);
  pthread_t thread{};
  pthread_create(&thread, nullptr, wait_in_thread, &number);
  pthread_barrier_wait(&all_there);
  pthread_create(
      &thread, nullptr,
      [](void*) -> void* {
        usleep(50'000);
        recurse(number, write_to_nowhere);
        return nullptr;
      },
      nullptr);
  if (main_ends) pthread_exit(nullptr);
  while (for_ever) pause();
}

/// The stack is used up; on another one, the handler gives up.
void overflow() {
  use_another_stack();
  handle([](int) { recurse(3, std::abort); }, SA_ONSTACK, SIGSEGV);
  recurse(1 << 30, rest);
}

void execute_in_thread(char** command) {
  pthread_t thread{};
  pthread_create(
      &thread, nullptr,
      [](void* arguments) -> void* {
        execvp(*static_cast<char**>(arguments), static_cast<char**>(arguments));
        return nullptr;
      },
      command);
  while (for_ever) pause();
}

/// Counts the signals that come; SIGUSR2 asks for their number.
void count_signals() {
  handle([](int) { signals_taken = signals_taken + 1; }, 0);
  sigset_t both;
  sigemptyset(&both);
  sigaddset(&both, SIGUSR2);
  sigprocmask(SIG_BLOCK, &both, nullptr);
  report();
  int signal = 0;
  sigwait(&both, &signal);
  std::printf("%d\n", static_cast<int>(signals_taken));
}

}  // namespace

int main(int argument_count, char** arguments) {
  const char* const mode = argument_count > 1 ? arguments[1] : "";
  const int number = argument_count > 2 ? std::atoi(arguments[2]) : 10;
  if (std::strcmp(mode, "threads") == 0) threads(number);
  if (std::strcmp(mode, "recursion") == 0) recurse(number, rest);
  if (std::strcmp(mode, "throw") == 0) {
    try {
      unwind_through(number);
    } catch (const std::runtime_error&) {
    }
  }
  if (std::strcmp(mode, "handler") == 0) in_handler(0);
  if (std::strcmp(mode, "altstack") == 0) in_handler(SA_ONSTACK);
  if (std::strcmp(mode, "signals") == 0) count_signals();
  if (std::strcmp(mode, "busy") == 0) be_busy(number);
  if (std::strcmp(mode, "crash") == 0) crash(number, false);
  if (std::strcmp(mode, "crash-without-main") == 0) crash(number, true);
  if (std::strcmp(mode, "abort") == 0) recurse(number, std::abort);
  if (std::strcmp(mode, "uncaught") == 0) recurse(number, throw_error);
  if (std::strcmp(mode, "overflow") == 0) overflow();
  if (std::strcmp(mode, "handled") == 0) {
    handle([](int) { _exit(7); }, 0, SIGSEGV);
    recurse(number, write_to_nowhere);
  }
  if (std::strcmp(mode, "exec") == 0) execute_in_thread(arguments + 2);
}
