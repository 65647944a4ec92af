// Prints what a frame costs by .sframe, libgcc's .eh_frame reader, libunwind, libdwfl and frame pointers, in one run on
// the same stacks, and what a look-up costs. tools/measure/benchmark-unwind builds, converts and runs it.

#include <dlfcn.h>
#include <execinfo.h>
#include <ucontext.h>
#include <unwind.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "sframe_gen/unwind.h"
#include "sframe_gen/view.hpp"
#if defined(HAVE_LIBDWFL)
#include <unistd.h>

#include "libdwfl.hpp"
#endif

namespace {

constexpr int most_frames = 256;
void* buffer[most_frames];

using Clock = std::chrono::steady_clock;
using Walker = int (*)();
using WalkerFromSignal = int (*)(const void* ucontext);

_Unwind_Reason_Code add_frame(_Unwind_Context* context, void* data) {
  int& count = *static_cast<int*>(data);
  if (count == most_frames) return _URC_END_OF_STACK;
  buffer[count++] = reinterpret_cast<void*>(_Unwind_GetIP(context));
  return _URC_NO_REASON;
}
int by_libgcc() {
  int count = 0;
  _Unwind_Backtrace(add_frame, &count);
  return count;
}

int by_sframe() {
  return sframe_unwind_backtrace(buffer, most_frames);
}

int by_sframe_interrupted(const void* ucontext) {
  return sframe_unwind_backtrace_interrupted(buffer, most_frames, ucontext);
}

int by_frame_records(void** record, int count) {
  while (record != nullptr && count != most_frames) {
    buffer[count++] = record[1];
    auto* const next = static_cast<void**>(record[0]);
    if (next <= record) break;
    record = next;
  }
  return count;
}

/// As fast as a walk can be: the chain of frame records, which this program is compiled to have.
int by_frame_pointers() {
  return by_frame_records(static_cast<void**>(__builtin_frame_address(0)), 0);
}

int by_interrupted_frame_pointers(const void* ucontext) {
  const mcontext_t& context = static_cast<const ucontext_t*>(ucontext)->uc_mcontext;
#if defined(__x86_64__)
  const auto pc = static_cast<std::uintptr_t>(context.gregs[REG_RIP]);
  const auto record = static_cast<std::uintptr_t>(context.gregs[REG_RBP]);
#elif defined(__aarch64__)
  const std::uintptr_t pc = context.pc, record = context.regs[29];
#else
  const std::uintptr_t pc = 0, record = 0;
#endif
  buffer[0] = reinterpret_cast<void*>(pc);
  return by_frame_records(reinterpret_cast<void**>(record), 1);
}

/// libunwind's functions by the names that its header hides: it need not be installed where this is compiled.
struct Libunwind {
  using Cursor = std::uint64_t[127];
  using Space = void*;
  static constexpr int no_cache = 0, global_cache = 1, ip = 16;

  int (*backtrace)(void**, int) = nullptr;
  int (*get_context)(ucontext_t*) = nullptr;
  int (*init_local)(Cursor*, ucontext_t*) = nullptr;
  int (*step)(Cursor*) = nullptr;
  int (*get_reg)(Cursor*, int, std::uint64_t*) = nullptr;
  int (*set_caching_policy)(Space, int) = nullptr;
  Space* space = nullptr;
};
Libunwind libunwind;

/// False: it is not there, or not whole.
bool find_libunwind() {
  void* const library = ::dlopen("libunwind.so.8", RTLD_NOW);
  if (library == nullptr) return false;
  bool is_whole = true;
  const auto find = [&](auto& place, const char* name) {
    place = reinterpret_cast<std::remove_reference_t<decltype(place)>>(::dlsym(library, name));
    is_whole = is_whole && place != nullptr;
  };
  find(libunwind.backtrace, "unw_backtrace");
  find(libunwind.get_context, "_Ux86_64_getcontext");
  find(libunwind.init_local, "_ULx86_64_init_local");
  find(libunwind.step, "_ULx86_64_step");
  find(libunwind.get_reg, "_ULx86_64_get_reg");
  find(libunwind.set_caching_policy, "_ULx86_64_set_caching_policy");
  find(libunwind.space, "_ULx86_64_local_addr_space");
  return is_whole;
}

int by_libunwind() {
  return libunwind.backtrace(buffer, most_frames);
}

/// With no row remembered, if that is what it was told.
int by_libunwind_steps() {
  ucontext_t context;
  Libunwind::Cursor cursor;
  libunwind.get_context(&context);
  libunwind.init_local(&cursor, &context);
  int count = 0;
  do {
    std::uint64_t pc = 0;
    libunwind.get_reg(&cursor, Libunwind::ip, &pc);
    buffer[count++] = reinterpret_cast<void*>(pc);
  } while (count != most_frames && libunwind.step(&cursor) > 0);
  return count;
}

#if defined(HAVE_LIBDWFL)
bool read_own(void*, std::uint64_t address, void* bytes) {
  std::memcpy(bytes, reinterpret_cast<const void*>(address), sizeof address);
  return true;
}
std::optional<sframe_gen::unwind::Libdwfl> libdwfl;

/// In this process as well, so that no system call is counted: memory is read directly, files are looked at before.
[[gnu::noinline]] int by_libdwfl() {
  std::uint64_t pc, rbx, rbp, rsp, r12, r13, r14, r15;
  asm volatile(
      "leaq 0(%%rip), %0\n\tmovq %%rbx, %1\n\tmovq %%rbp, %2\n\tmovq %%rsp, %3\n\t"
      "movq %%r12, %4\n\tmovq %%r13, %5\n\tmovq %%r14, %6\n\tmovq %%r15, %7"
      : "=&r"(pc), "=m"(rbx), "=m"(rbp), "=m"(rsp), "=m"(r12), "=m"(r13), "=m"(r14), "=m"(r15));
  sframe_gen::unwind::Registers registers;
  registers.pc = pc;
  const std::uint64_t values[]{rbx, rbp, rsp, r12, r13, r14, r15};
  constexpr std::uint32_t numbers[]{3, 6, 7, 12, 13, 14, 15};
  for (std::size_t i = 0; i < std::size(numbers); ++i) registers.set(numbers[i], values[i]);
  static std::uint64_t pcs[most_frames];
  const char* why = nullptr;
  return static_cast<int>(libdwfl->walk(registers, pcs, why));
}
/// Makes a new libdwfl each time: files that the last one opened are still mapped, and would count as loaded.
void find_files() {
  libdwfl.reset();
  libdwfl.emplace(::getpid(), read_own, nullptr);
  if (!libdwfl->find_files()) std::exit(1);
}
#else
constexpr Walker by_libdwfl = nullptr;
void find_files() {}
#endif

double ns_per_call(Walker walker, int& frames) {
  double best = 1e18;
  for (int round = 0; round < 15; ++round) {
    const int calls = 300;
    const auto start = Clock::now();
    for (int i = 0; i < calls; ++i) frames = walker();
    best = std::min(best, std::chrono::duration<double, std::nano>(Clock::now() - start).count() / calls);
  }
  return best;
}

/// Walks from a handler of SIGPROF, one in each, as a profiler does. What is interrupted does nothing.
class Profile {
 public:
  /// What one walk of the median sample takes.
  static double ns_per_walk(WalkerFromSignal walker, int& frames) {
    walk = walker;
    count = 0;
    struct sigaction action {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGPROF;
    timer_t timer{};
    constexpr long period_ns = 500'000;
    const itimerspec period{{0, period_ns}, {0, period_ns}};
    if (::sigaction(SIGPROF, &action, nullptr) != 0 || ::timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 ||
        ::timer_settime(timer, 0, &period, nullptr) != 0)
      std::exit(1);
    while (count != samples) continue;
    ::timer_delete(timer);
    frames = frames_of_last;
    std::sort(std::begin(ns), std::end(ns));
    return ns[samples / 2];
  }

 private:
  static constexpr int samples = 501;

  static void on_signal(int, siginfo_t*, void* ucontext) {
    if (count == samples) return;
    const auto start = Clock::now();
    const auto begin = Clock::now();  // what looking at the clock takes is none of the walk's
    frames_of_last = walk(ucontext);
    const auto end = Clock::now();
    ns[count] = std::chrono::duration<double, std::nano>((end - begin) - (begin - start)).count();
    count = count + 1;
  }

  static inline WalkerFromSignal walk = nullptr;
  static inline volatile int count = 0;
  static inline int frames_of_last = 0;
  static inline double ns[samples];
};

void measure(const char* stack) {
  struct Way {
    const char* name;
    Walker walk;
    WalkerFromSignal walk_from_signal;
  };
  const bool has_libunwind = libunwind.space != nullptr;
  const Way ways[]{
      {"sframe_unwind_backtrace", by_sframe, by_sframe_interrupted},
      {"frame pointers", by_frame_pointers, by_interrupted_frame_pointers},
      {"libgcc's _Unwind_Backtrace", by_libgcc, [](const void*) { return by_libgcc(); }},
      {"libunwind's unw_backtrace", has_libunwind ? by_libunwind : nullptr, [](const void*) { return by_libunwind(); }},
      {"libunwind's unw_step, no cache", has_libunwind ? by_libunwind_steps : nullptr,
       [](const void*) { return by_libunwind_steps(); }},
      {"libdwfl's dwfl_getthread_frames", by_libdwfl, nullptr}};
  double ours = 0;
  double ours_from_signal = 0;
  for (const Way& way : ways) {
    if (way.walk == nullptr) continue;
    const bool is_without_cache = way.walk == by_libunwind_steps;
    if (is_without_cache) libunwind.set_caching_policy(*libunwind.space, Libunwind::no_cache);
    int frames = 0;
    const double ns = ns_per_call(way.walk, frames) / std::max(frames, 1);
    if (ours == 0) ours = ns;
    std::printf("| %s | %s | %d | %.1f | %.2f |", stack, way.name, frames, ns, ns / ours);
    if (way.walk_from_signal != nullptr) {
      const double walk_ns = Profile::ns_per_walk(way.walk_from_signal, frames);
      const double frame_ns = walk_ns / std::max(frames, 1);
      if (ours_from_signal == 0) ours_from_signal = frame_ns;
      std::printf(" %d | %.1f | %.2f |", frames, frame_ns, frame_ns / ours_from_signal);
    }
    std::puts("");
    if (is_without_cache) libunwind.set_caching_policy(*libunwind.space, Libunwind::global_cache);
  }
}

[[gnu::noinline]] int recurse(int depth, const char* stack) {
  if (depth == 0) {
    measure(stack);
    return 0;
  }
  const int below = recurse(depth - 1, stack);
  asm volatile("" ::: "memory");
  return below + 1;
}

/// Functions of as many PCs as there are frames.
template <int depth>
[[gnu::noinline]] int one_of_many(const char* stack) {
  if constexpr (depth == 0) {
    measure(stack);
    return 0;
  } else {
    const int below = one_of_many<depth - 1>(stack);
    asm volatile("" ::: "memory");
    return below + depth;
  }
}

int on_compare(const void*, const void*) {
  static bool measured = false;
  if (!measured) recurse(1, "through qsort of libc");
  measured = true;
  return 0;
}

/// As benchmark_module.c has it.
struct Chain {
  int left = 0;
  int (*next[64])(Chain*) = {};
};

int at_the_end_of_the_chain(Chain*) {
  measure("through forty modules");
  if (sframe_unwind_backtrace_prepare_with(nullptr, nullptr, SFRAME_UNWIND_KEEP_FILES) != 0) std::exit(1);
  measure("through forty modules that are kept");
  return 0;
}

void walk_through_modules(const std::string& folder) {
  Chain chain;
  chain.next[chain.left++] = at_the_end_of_the_chain;
  for (int i = 0; i < 40; ++i) {
    void* const module = ::dlopen((folder + "/module-" + std::to_string(i) + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (module == nullptr) {
      std::fprintf(stderr, "%s\n", ::dlerror());
      std::exit(1);
    }
    chain.next[chain.left++] = reinterpret_cast<int (*)(Chain*)>(::dlsym(module, "pass_on"));
  }
  if (sframe_unwind_backtrace_prepare() != 0) std::exit(1);
  find_files();
  --chain.left;
  chain.next[chain.left](&chain);
}

void measure_lookups(const char* file, std::uint64_t address) {
  std::ifstream stream(file, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(stream), {}};
  sframe_gen::sframe::SectionView view;
  const auto opening = Clock::now();
  if (const auto fault = view.open(std::as_bytes(std::span(bytes)), address)) {
    std::fprintf(stderr, "%s: %s\n", file, text_of(fault.problem));
    std::exit(1);
  }
  const double opened = std::chrono::duration<double, std::milli>(Clock::now() - opening).count();
  // PCs of its functions, each byte as likely as any other.
  std::uint64_t low = ~std::uint64_t{0}, high = 0;
  for (std::uint64_t pc = 0; pc < std::uint64_t{1} << 30U; pc += 4096) {
    if (view.lookup(pc).kind == sframe_gen::sframe::Lookup::Kind::Nothing) continue;
    low = std::min(low, pc);
    high = std::max(high, pc);
  }
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> pcs(200000);
  for (std::uint64_t& pc : pcs) pc = low + random() % (high - low);
  std::printf(
      "\n%zu bytes of %s, %u functions; opened in %.2f ms\n\n"
      "| look-ups of random PCs | table (KiB) | made in (ms) | ns each | with a row |\n|---|---:|---:|---:|---:|\n",
      bytes.size(), file, view.function_count(), opened);
  std::vector<sframe_gen::sframe::PageSlot> slots;
  const auto measure_with = [&](const char* name, std::uint64_t slot_count) {
    slots.assign(slot_count, {});
    const auto start = Clock::now();
    view.use_pages(slots);
    const double made = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    double best = 1e18;
    std::uint64_t rows = 0;
    for (int round = 0; round < 25; ++round) {
      rows = 0;
      const auto begin = Clock::now();
      for (const std::uint64_t pc : pcs) rows += view.lookup(pc).kind == sframe_gen::sframe::Lookup::Kind::Row;
      best = std::min(best, std::chrono::duration<double, std::nano>(Clock::now() - begin).count());
    }
    const auto count = static_cast<double>(pcs.size());
    std::printf("| %s | %zu | %.2f | %.1f | %.0f %% |\n", name, slots.size() * sizeof slots[0] / 1024, made,
                best / count, 100.0 * static_cast<double>(rows) / count);
  };
  measure_with("without pages", 0);
  measure_with("pages of 256 bytes", view.page_slots(256));
  measure_with("pages of 512 bytes", view.page_slots(512));
  measure_with("pages of 1024 bytes", view.page_slots(1024));
  measure_with("pages of 2048 bytes", view.page_slots(2048));
}

}  // namespace

int main(int count, char** arguments) {
  if (sframe_unwind_backtrace_prepare() != 0) return 1;
  if (!find_libunwind()) libunwind = {};
  find_files();
  std::puts(
      "| stack | way | frames | ns a frame | by .sframe = 1 | frames from SIGPROF | ns a frame | by .sframe = 1 |\n"
      "|---|---|---:|---:|---:|---:|---:|---:|");
  recurse(2, "shallow");
  recurse(60, "recursion");
  recurse(196, "deep recursion");
  one_of_many<180>("as many functions as frames");
  int numbers[2]{};
  std::qsort(numbers, 2, sizeof numbers[0], on_compare);
  if (count > 1) walk_through_modules(arguments[1]);
  for (int i = 2; i + 1 < count; i += 2) measure_lookups(arguments[i], std::strtoull(arguments[i + 1], nullptr, 0));
  return 0;
}
