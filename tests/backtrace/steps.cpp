// Walks step by step, with the functions of libunwind as a program calls them and with libunwind's own at the same
// moment. After some steps, each walk asks for more than rows know. libunwind is loaded by dlopen(), unless it is
// preloaded.

#include <dlfcn.h>
#include <pthread.h>
#include <sys/time.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>

#include "../unwind/recurse.hpp"

using Word = std::uint64_t;

// Of libunwind, which this is not linked to.
extern "C" {
int _ULx86_64_init_local(void*, void*) __attribute__((weak));
int _ULx86_64_init_local2(void*, void*, int) __attribute__((weak));
int _ULx86_64_step(void*) __attribute__((weak));
int _ULx86_64_get_reg(void*, int, Word*) __attribute__((weak));
int _ULx86_64_is_signal_frame(void*) __attribute__((weak));
int _ULx86_64_get_proc_name(void*, char*, std::size_t, Word*) __attribute__((weak));
}

namespace {

struct Functions {
  decltype(&_ULx86_64_init_local) init;
  decltype(&_ULx86_64_init_local2) init2;
  decltype(&_ULx86_64_step) step;
  decltype(&_ULx86_64_get_reg) get_reg;
  decltype(&_ULx86_64_is_signal_frame) is_signal_frame;
  decltype(&_ULx86_64_get_proc_name) get_proc_name;
};

constexpr int frame_pointer = 6, stack_pointer = 7, instruction_pointer = 16, kept_register = 3;
constexpr int most_frames = 100;

struct Frame {
  Word ip, sp, fp, kept, offset;
  int is_signal_frame, result;
  char name[40];
};

struct Walk {
  int count, last_step, last_result;
  Word last_ip;
  Frame frames[most_frames];
};

Functions ours, theirs;
int (*get_context)(void*);
int first_question;  ///< the number of the frame from which on all is asked
unsigned long walks, frames, different;

void* symbol(void* library, const char* name) {
  void* const found = ::dlsym(library, name);
  if (found == nullptr) std::exit(3);
  return found;
}

bool begin() {
  ours = {_ULx86_64_init_local, _ULx86_64_init_local2,     _ULx86_64_step,
          _ULx86_64_get_reg,    _ULx86_64_is_signal_frame, _ULx86_64_get_proc_name};
  void* const library = ::dlopen("libunwind.so.8", RTLD_LAZY);
  if (library == nullptr || ours.step == nullptr) return false;
  const auto find = [&](auto& place, const char* name) {
    place = reinterpret_cast<std::remove_reference_t<decltype(place)>>(symbol(library, name));
  };
  find(theirs.init, "_ULx86_64_init_local");
  find(theirs.init2, "_ULx86_64_init_local2");
  find(theirs.step, "_ULx86_64_step");
  find(theirs.get_reg, "_ULx86_64_get_reg");
  find(theirs.is_signal_frame, "_ULx86_64_is_signal_frame");
  find(theirs.get_proc_name, "_ULx86_64_get_proc_name");
  find(get_context, "_Ux86_64_getcontext");
  return ours.step != theirs.step;
}

/// `given`: where the walk begins; null: here.
[[gnu::noinline]] void walk_with(const Functions& functions, void* given, bool has_flags, Walk& walk) {
  alignas(16) static thread_local char cursor[127 * 8], own[2048];
  std::memset(&walk, 0, sizeof walk);
  // Libunwind's own functions would take a note of ours for theirs.
  std::memset(cursor, &functions == &ours ? 0x33 : 0, sizeof cursor);
  void* context = given;
  if (given == nullptr) get_context(context = own);
  if ((has_flags ? functions.init2(cursor, context, 0) : functions.init(cursor, context)) < 0) return;
  do {
    Frame& frame = walk.frames[walk.count];
    frame.result = functions.get_reg(cursor, instruction_pointer, &frame.ip);
    frame.result += functions.get_reg(cursor, stack_pointer, &frame.sp);
    frame.result += functions.get_reg(cursor, frame_pointer, &frame.fp);
    if (walk.count >= first_question) {
      // The first two functions have other values there in the second walk.
      if (walk.count > 1) frame.result += functions.get_reg(cursor, kept_register, &frame.kept);
      frame.is_signal_frame = functions.is_signal_frame(cursor);
      frame.result += functions.get_proc_name(cursor, frame.name, sizeof frame.name, &frame.offset);
    }
    walk.last_step = functions.step(cursor);
  } while (walk.last_step > 0 && ++walk.count < most_frames);
  walk.last_result = functions.get_reg(cursor, instruction_pointer, &walk.last_ip);
}

/// Both calls are one instruction: so the stacks are the same.
[[gnu::noinline]] void compare_from(void* given, bool has_flags) {
  static Walk results[2];
  for (int i = 0; i != 2; ++i) {
    walk_with(i == 0 ? ours : theirs, given, has_flags, results[i]);
    asm volatile("" : "+r"(i));
  }
  const auto& [one, other] = results;
  ++walks;
  frames += static_cast<unsigned long>(one.count) + 1;
  if (std::memcmp(&one, &other, sizeof one) == 0) return;
  ++different;
  std::printf("from %lx: %d and %d frames, last steps %d and %d\n", one.frames[0].ip, one.count, other.count,
              one.last_step, other.last_step);
}

void compare() {
  compare_from(nullptr, false);
  compare_from(nullptr, true);
}

[[gnu::noinline]] void throw_from(int depth) {
  if (depth == 0) throw std::runtime_error("thrown");
  throw_from(depth - 1);
}

/// What a profiler does in the handler of its timer: the first frame is the interrupted one, of which libunwind is not
/// told.
void compare_interrupted(int, siginfo_t*, void* context) {
  first_question = most_frames;
  compare_from(context, false);
}

[[gnu::noinline]] std::size_t work(int depth) {
  std::string text;
  for (int i = 0; i != 20; ++i) text += std::to_string(i * depth);
  return depth == 0 ? text.size() : work(depth - 1) + text.size();
}

void walk_from_timer(double seconds) {
  struct sigaction action = {};
  action.sa_sigaction = compare_interrupted;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  ::sigaction(SIGPROF, &action, nullptr);
  const itimerval often{{0, 1000}, {0, 1000}}, never{};
  ::setitimer(ITIMER_PROF, &often, nullptr);
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end) work(10);
  ::setitimer(ITIMER_PROF, &never, nullptr);
}

void walk_everywhere() {
  for (int depth = 0; depth != 40; ++depth) recurse<40>(depth, compare);
  int numbers[] = {3, 1, 2};
  std::qsort(numbers, 3, sizeof(int), [](const void* a, const void* b) {
    compare();
    return *static_cast<const int*>(a) - *static_cast<const int*>(b);
  });
  recurse<40>(5, [] { std::raise(SIGUSR1); });
  std::thread(recurse<40>, 5, compare).join();
  // Where libunwind is first, its own steps find the handler.
  try {
    throw_from(10);
  } catch (const std::exception&) {
    compare();
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (!begin()) {
    std::printf("nothing stands in for libunwind\n");
    return 3;
  }
  std::signal(SIGUSR1, [](int) { compare(); });
  for (const int question : {most_frames, most_frames, 0, 1, 3, 7}) {
    first_question = question;
    walk_everywhere();
  }
  walk_from_timer(count > 1 ? std::atof(arguments[1]) : 0.5);
  std::printf("%lu walks, %lu frames, %lu different\n", walks, frames, different);
  return different == 0 && walks > 0 ? 0 : 1;
}
