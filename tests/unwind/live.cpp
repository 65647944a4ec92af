// Walks its own stack by .sframe at thousands of instructions of every kind, and compares each walk with libgcc's.
// The script beside this file converts the program and its libraries first.

#include <alloca.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include "sampler.hpp"

namespace {

using namespace sframe_gen::unwind;

#if defined(__clang__)
#define NOINLINE __attribute__((noinline, optnone))
#else
#define NOINLINE __attribute__((noipa))
#endif

/// Keeps the compiler from knowing what a call or a loop did.
template <typename T>
void keep(T* thing) {
  asm volatile("" : : "r"(thing) : "memory");
}

constexpr std::uint64_t step_limit = 300000;

template <typename Action>
void stepped(Action&& action) {
  step_from_here(step_limit);
  action();
  stop_stepping();
}

NOINLINE int recurse(int depth, int (*bottom)()) {
  char bytes[48];
  std::memset(bytes, depth, sizeof bytes);
  keep(bytes);
  return depth == 0 ? bottom() : recurse(depth - 1, bottom) + bytes[7] % 2;
}

void deep_recursion() {
  recurse(5000, [] {
    sample_here();
    return 0;
  });
  stepped([] { recurse(40, [] { return 1; }); });
}

int compare_numbers(const void* a, const void* b) {
  const int left = *static_cast<const int*>(a);
  const int right = *static_cast<const int*>(b);
  return (left > right) - (left < right);
}

void callback_through_libc() {
  int numbers[40];
  for (int& number : numbers) number = std::rand() % 1000;
  stepped([&] { std::qsort(numbers, std::size(numbers), sizeof numbers[0], compare_numbers); });
}

void on_user_signal(int) {
  stepped([] { recurse(3, [] { return 2; }); });
}

/// Each sample is taken below two trampolines.
void inside_signal_handler() {
  ::signal(SIGUSR1, on_user_signal);
  ::raise(SIGUSR1);
}

/// The signal comes while instructions are being sampled already.
void signal_while_stepping() {
  ::signal(SIGUSR2, [](int number) { keep(&number); });
  stepped([] { ::raise(SIGUSR2); });
}

/// On a stack of its own, which lies inside this one for those who ask where stacks are. Each sample is taken below the
/// frame of the kernel that leads from one to the other.
void on_alternate_stack() {
  constexpr std::size_t size = 512 << 10U;
  auto* const bytes = static_cast<char*>(alloca(size));
  const stack_t alternate{bytes, 0, size};
  const stack_t none{nullptr, SS_DISABLE, 0};
  struct sigaction action = {};
  action.sa_handler = on_user_signal;
  action.sa_flags = SA_ONSTACK;
  ::sigaltstack(&alternate, nullptr);
  ::sigaction(SIGURG, &action, nullptr);
  ::raise(SIGURG);
  ::sigaltstack(&none, nullptr);
}

/// Functions called nowhere else: the first call goes through PLT0 and the dynamic loader, the second does not.
void procedure_linkage_table() {
  const char* text = "one two";
  keep(&text);
  stepped([&] {
    for (int i = 0; i < 2; ++i) {
      std::size_t total = std::strspn(text, "eno") + std::strcspn(text, "tw") + std::strtoul(text, nullptr, 36);
      keep(&total);
      const char* found = std::strpbrk(text, "w");
      keep(&found);
      const std::div_t halves = std::div(i + 7, 2);
      keep(&halves);
    }
  });
}

/// Locals aligned beyond the ABI, arguments on the stack and a frame of unknown size: the CFA goes through memory.
/// Not recursive: see what walk() says of the epilogue; libgcc would follow the wrong rbp to anywhere.
NOINLINE long realigned(int count, ...) {
  alignas(64) long lanes[8];
  auto* const more = static_cast<unsigned char*>(alloca(static_cast<std::size_t>(count)));
  std::memset(more, count, static_cast<std::size_t>(count));
  va_list arguments;
  va_start(arguments, count);
  for (long& lane : lanes) lane = va_arg(arguments, int);
  va_end(arguments);
  keep(lanes);
  keep(more);
  return lanes[3] + more[1];
}

void realigned_stack() {
  stepped([] {
    for (int count = 17; count < 40; ++count) realigned(count, 1, 2, 3, 4, 5, 6, 7, 8);
  });
}

struct Destructor {
  std::string text = "a string that does not fit into the object itself";
  ~Destructor() { keep(&text); }
};

NOINLINE int thrower(int depth) {
  Destructor destructor;
  keep(&destructor);
  if (depth == 0) throw std::runtime_error("thrown");
  return thrower(depth - 1) + static_cast<int>(destructor.text.size());
}

void exception_in_flight() {
  stepped([] {
    for (int i = 0; i < 3; ++i) {
      try {
        thrower(4);
      } catch (const std::runtime_error& error) {
        keep(&error);
      }
    }
  });
}

void allocation_and_output() {
  stepped([] {
    char text[200];
    for (int i = 1; i < 36; ++i) {
      std::string grown(static_cast<std::size_t>(i * 100), 'x');
      keep(&grown);
      std::snprintf(text, sizeof text, "%d %s %.3f %lx", i, grown.substr(0, 5).c_str(), i / 3.0, 99L * i);
      keep(text);
    }
  });
}

/// Its outermost frame is clone's.
void in_a_thread() {
  pthread_t thread;
  const auto body = [](void*) -> void* {
    know_stack_of_this_thread();
    stepped([] { recurse(5, [] { return std::abs(std::rand()); }); });
    return nullptr;
  };
  if (::pthread_create(&thread, nullptr, body, nullptr) == 0) ::pthread_join(thread, nullptr);
}

struct Scenario {
  const char* name;
  void (*run)();
  std::uint64_t fewest_samples;
};

constexpr Scenario scenarios[] = {
    {"deep recursion", deep_recursion, 500},
    {"callback through qsort", callback_through_libc, 2000},
    {"inside a signal handler", inside_signal_handler, 50},
    {"on an alternate stack", on_alternate_stack, 50},
    {"a signal while stepping", signal_while_stepping, 50},
    {"procedure linkage table", procedure_linkage_table, 300},
    {"realigned stack", realigned_stack, 2000},
    {"exception in flight", exception_in_flight, 10000},
    {"allocation and output", allocation_and_output, 10000},
    {"in a thread", in_a_thread, 100},
};

void add(Tally& sum, const Tally& tally) {
  sum.samples += tally.samples;
  sum.frames += tally.frames;
  sum.in_plt += tally.in_plt;
  sum.in_flexible += tally.in_flexible;
  sum.in_first_row += tally.in_first_row;
  sum.through_trampoline += tally.through_trampoline;
  sum.landing += tally.landing;
  sum.outermost += tally.outermost;
  sum.own_walks += tally.own_walks;
  for (std::size_t i = 0; i < stop_count; ++i) sum.cut[i] += tally.cut[i];
}

void print(const char* name, const Tally& tally) {
  const auto cut = [&](Stop end) { return tally.cut[static_cast<std::size_t>(end)]; };
  std::printf("%s: %lu samples (%lu in PLTs, %lu in flexible descriptors, %lu in first rows), %lu frames compared\n",
              name, tally.samples, tally.in_plt, tally.in_flexible, tally.in_first_row, tally.frames);
  std::printf(
      "    to the outermost frame %lu; shorter than libgcc's: %lu at a file without .sframe, %lu without a row, "
      "%lu at an unknown register; landing %lu\n",
      tally.outermost, cut(Stop::NoSection), cut(Stop::NoRow), cut(Stop::UnknownRegister), tally.landing);
}

int failures;

void expect_at_least(std::uint64_t found, std::uint64_t least, const char* what) {
  if (found >= least) return;
  ++failures;
  std::printf("FAILED: only %lu %s, %lu were to be expected\n", found, what, least);
}

}  // namespace

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  static const Tables tables;
  std::uint64_t with_section = 0;
  for (const LoadedFile& file : tables.files()) {
    std::printf("%s: %zu descriptors\n", file.name.c_str(), file.section.fdes.size());
    with_section += file.has_section;
  }
  start_sampling(tables);
  static Tally total;
  for (const Scenario& scenario : scenarios) {
    scenario.run();
    const Tally tally = take_tally();
    print(scenario.name, tally);
    expect_at_least(tally.samples, scenario.fewest_samples, "samples");
    add(total, tally);
  }
  print("all", total);
  const std::uint64_t differences = report_differences();
  std::printf("%lu differences\n", differences);
  expect_at_least(with_section, 4, "files with .sframe");
  expect_at_least(total.samples, 300000, "samples");
  expect_at_least(total.in_plt, 20, "samples in PLT entries");
  expect_at_least(total.in_flexible, 20, "samples in flexible descriptors");
  expect_at_least(total.in_first_row, 1000, "samples at the beginning of a function");
  expect_at_least(total.through_trampoline, total.samples - total.landing, "walks through a signal trampoline");
  expect_at_least(total.samples - total.landing, total.samples * 99 / 100, "samples compared");
  expect_at_least(total.own_walks, total.samples - total.landing, "walks repeated by sframe_unwind_backtrace");
  // All the rest ends in the dynamic loader, which sframe-gen does not convert.
  expect_at_least(total.outermost, total.samples * 8 / 10, "walks to the outermost frame");
  return failures == 0 && differences == 0 ? 0 : 1;
}
