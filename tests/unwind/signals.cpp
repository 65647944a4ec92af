// SIGPROF interrupts threads that recurse, allocate, and load and unload a library, wherever they are; the handler
// walks the stack. What is true of it is known: how many frames of one function are on it, and that a walk to its end
// gets there through all of them. The script beside this file converts the program and its libraries first. usage:
// unwind-signals LIBZ WALKS

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "sframe_gen/unwind.h"

// The linker's: where the section of descend() begins and ends.
extern "C" const char __start_descend_code[];
extern "C" const char __stop_descend_code[];

namespace {

constexpr int stop_count = SFRAME_UNWIND_BAD_SECTION + 1;
constexpr int deepest = 20;

std::array<std::atomic<long>, stop_count> stops;
std::atomic<long> walks, frames_walked, wrong, in_library, prepared;
std::atomic<bool> done;
const char* library;

// Of the thread: how many frames of descend() it has, or one less, while one is being made or left.
thread_local volatile int depth = -1;

template <typename T>
void keep(T* thing) {
  asm volatile("" : : "r"(thing) : "memory");
}

void on_signal(int, siginfo_t*, void* context) {
  const int kept = errno;
  if (depth < 0) return;
  void* pcs[200];
  int stop = 0;
  const int count = sframe_unwind_backtrace_stop(pcs, 200, context, &stop);
  int found = 0;
  for (int i = 0; i < count; ++i) {
    const char* const pc = static_cast<const char*>(pcs[i]) - (i == 0 ? 0 : 1);
    found += pc >= __start_descend_code && pc < __stop_descend_code;
  }
  const bool whole = stop == SFRAME_UNWIND_OUTERMOST;
  if (found > depth + 1 || (whole && found < depth) || stop == SFRAME_UNWIND_STEPPED ||
      stop == SFRAME_UNWIND_BAD_SECTION)
    ++wrong;
  if (errno != kept) ++wrong;
  ++stops[static_cast<std::size_t>(stop)];
  ++walks;
  frames_walked += count;
}

using Work = void (*)(unsigned);

[[gnu::noinline, gnu::section("descend_code")]] int descend(int left, unsigned round, Work work) {
  depth = depth + 1;
  char bytes[40];
  std::memset(bytes, left, sizeof bytes);
  keep(bytes);
  int result = bytes[3];
  if (left == 0) {
    work(round);
  } else {
    result += descend(left - 1, round, work);
  }
  keep(&result);
  depth = depth - 1;
  return result;
}

void allocate(unsigned round) {
  std::vector<std::string> strings;
  for (unsigned i = 0; i < 30; ++i) strings.emplace_back((round * 7 + i * 131) % 3000, 'x');
  void* block = std::malloc(round % 100000 + 1);
  block = std::realloc(block, round % 300000 + 1);
  keep(block);
  std::free(block);
}

int compare(const void* a, const void* b) {
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}

void sort_and_print(unsigned round) {
  int numbers[60];
  for (int& number : numbers) number = static_cast<int>(round = round * 1103515245 + 12345) >> 8;
  std::qsort(numbers, 60, sizeof numbers[0], compare);
  char text[100];
  std::snprintf(text, sizeof text, "%d %.6f %s", numbers[3], numbers[4] / 7.0, "text");
  const double number = std::strtod(text, nullptr);
  keep(&number);
}

/// Each time at another address, perhaps: what was known of it is known no longer.
void load_and_unload(unsigned round) {
  void* const handle = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    std::fprintf(stderr, "%s\n", ::dlerror());
    std::exit(1);
  }
  // Every other time, walks find a file that was not prepared.
  if (round % 2 == 0) prepared += sframe_unwind_backtrace_prepare() == 0;
  using Checksum = unsigned long (*)(unsigned long, const unsigned char*, unsigned);
  const auto checksum = reinterpret_cast<Checksum>(::dlsym(handle, "crc32"));
  static const std::vector<unsigned char> bytes(100000, 7);
  in_library += checksum(0, bytes.data(), static_cast<unsigned>(bytes.size())) != 0;
  ::dlclose(handle);
}

void* run_thread(void* data) {
  Work work = nullptr;
  std::memcpy(&work, data, sizeof work);
  depth = 0;
  for (unsigned round = 0; !done; ++round) descend(static_cast<int>(round) % deepest, round, work);
  depth = -1;
  return nullptr;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  library = arguments[1];
  const long wanted = std::atol(arguments[2]);
  if (sframe_unwind_backtrace_prepare() != 0) return 1;
  struct sigaction action = {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  ::sigaction(SIGPROF, &action, nullptr);

  Work works[]{allocate, sort_and_print, load_and_unload, allocate};
  std::array<pthread_t, std::size(works)> threads{};
  for (std::size_t i = 0; i < threads.size(); ++i) {
    if (::pthread_create(&threads[i], nullptr, run_thread, &works[i]) != 0) return 1;
  }
  const itimerval often{{0, 500}, {0, 500}};
  ::setitimer(ITIMER_PROF, &often, nullptr);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(120);
  while (walks < wanted && std::chrono::steady_clock::now() < end) {
    const timespec moment{0, 20000000};
    ::nanosleep(&moment, nullptr);
  }
  done = true;
  for (const pthread_t thread : threads) ::pthread_join(thread, nullptr);
  const itimerval never{};
  ::setitimer(ITIMER_PROF, &never, nullptr);
  sframe_unwind_backtrace_release();

  std::printf("%ld walks, %ld frames, %ld wrong; modules looked at %ld times, library called %ld times\n", walks.load(),
              frames_walked.load(), wrong.load(), prepared.load(), in_library.load());
  for (int stop = 1; stop < stop_count; ++stop) {
    const long times = stops[static_cast<std::size_t>(stop)];
    if (times != 0) std::printf("  stopped %ld times at %s\n", times, sframe_unwind_stop_text(stop));
  }
  // All the rest is in the dynamic loader, which sframe-gen does not convert, or in a library just loaded.
  const bool most_are_whole = stops[SFRAME_UNWIND_OUTERMOST] * 10 >= walks * 6;
  return walks >= wanted && wrong == 0 && most_are_whole && prepared > 3 && in_library > 3 ? 0 : 1;
}
