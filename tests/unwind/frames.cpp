// Walks of this thread that give SP with each PC and say why they ended, beside libgcc's; and walks that write to no
// memory that threads share.

#include <link.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unwind.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "recurse.hpp"
#include "sframe_gen/unwind.h"

namespace {

constexpr int most = 256;
bool good = true;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::printf("%s FAILED\n", what);
  good = false;
}

struct Frames {
  sframe_unwind_frame at[most];
  int count = 0;
};

_Unwind_Reason_Code add_frame(_Unwind_Context* context, void* data) {
  auto& frames = *static_cast<Frames*>(data);
  int is_exact = 0;
  const std::uint64_t pc = _Unwind_GetIPInfo(context, &is_exact);
  if (pc == 0 || frames.count == most) return _URC_END_OF_STACK;
  frames.at[frames.count++] = {pc, _Unwind_GetCFA(context), static_cast<std::uint32_t>(is_exact), 0};
  return _URC_NO_REASON;
}

/// All frames, by as many calls as it takes with room for `piece` new ones. Returns the last stop.
int walk_in_pieces(sframe_unwind_registers registers, int piece, Frames& frames) {
  int stop = 0;
  bool was_paused = false;
  frames.count = sframe_unwind_backtrace_frames(frames.at, piece, &registers, &stop);
  while (stop == SFRAME_UNWIND_STEPPED && frames.count + piece <= most) {
    // The last frame comes again. A piece has room left where a signal has interrupted a frame.
    if (frames.count % piece != 0) expect(registers.pc_is_exact == 1 || was_paused, "a pause");
    was_paused = was_paused || registers.pc_is_exact == 1;
    const int count = sframe_unwind_backtrace_frames(frames.at + frames.count - 1, piece + 1, &registers, &stop);
    frames.count += count - 1;
  }
  return stop;
}

/// Whether frames are the same from the second one on: the first one is in the middle of the caller.
bool same_frames(const Frames& ours, const Frames& libgccs) {
  if (ours.count != libgccs.count || ours.count < 2) return false;
  return std::memcmp(ours.at + 1, libgccs.at + 1, sizeof ours.at[0] * static_cast<std::size_t>(ours.count - 1)) == 0;
}

void compare(const char* what) {
  static thread_local Frames ours, libgccs;
  static thread_local void* pcs[most];
  sframe_unwind_registers registers;
  sframe_unwind_backtrace_here(&registers);
  libgccs.count = 0;
  _Unwind_Backtrace(add_frame, &libgccs);
  for (const int piece : {1, 2, 7, 100}) {
    expect(walk_in_pieces(registers, piece, ours) == SFRAME_UNWIND_OUTERMOST, what);
    expect(same_frames(ours, libgccs), what);
  }
  expect(ours.at[0].sp == libgccs.at[0].sp && ours.at[0].pc == registers.pc && ours.at[0].pc_is_exact == 0, what);

  sframe_unwind_registers last = registers;
  int stop = -1;
  int count = sframe_unwind_backtrace_from(pcs, most, &last, &stop);
  if (stop == SFRAME_UNWIND_STEPPED && last.pc_is_exact != 0)  // there is one such frame
    count += sframe_unwind_backtrace_from(pcs + count - 1, most - count + 1, &last, &stop) - 1;
  bool same = count == ours.count && stop == SFRAME_UNWIND_OUTERMOST;
  for (int i = 0; i < count; ++i) same &= pcs[i] == reinterpret_cast<void*>(ours.at[i].pc);
  expect(same && last.pc == ours.at[count - 1].pc, what);
  last = registers;
  expect(sframe_unwind_backtrace_from(pcs, 2, &last, &stop) == 2 && stop == SFRAME_UNWIND_STEPPED, what);
  std::printf("%s: %d frames\n", what, count);
}

const char* now;

void compare_everywhere() {
  now = "deep";
  recurse<300>(40, [] { compare(now); });
  now = "in a callback of libc";
  int numbers[2]{};
  std::qsort(numbers, 2, sizeof numbers[0], [](const void*, const void*) {
    compare(now);
    return 0;
  });
  now = "in a signal's handler on its own stack";
  static thread_local char bytes[1U << 16U];
  stack_t stack{};
  stack.ss_sp = bytes;
  stack.ss_size = sizeof bytes;
  ::sigaltstack(&stack, nullptr);
  recurse<300>(20, [] { std::raise(SIGUSR1); });
  stack.ss_flags = SS_DISABLE;
  ::sigaltstack(&stack, nullptr);
}

/// What the program maps, in pages.
long mapped_pages() {
  long pages = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%ld", &pages) != 1) std::exit(1);
  std::fclose(file);
  return pages;
}

long pages_of_preparing(unsigned flags) {
  const long before = mapped_pages();
  expect(sframe_unwind_backtrace_prepare_with(nullptr, nullptr, flags) == 0, "preparing");
  const long taken = mapped_pages() - before;
  sframe_unwind_backtrace_release();
  return taken;
}

/// The program's data, which this library's are part of.
int find_data(dl_phdr_info* info, std::size_t, void* data) {
  constexpr std::uint64_t page = 4096;
  auto& range = *static_cast<std::uint64_t(*)[2]>(data);
  for (const ElfW(Phdr)* part = info->dlpi_phdr; part != info->dlpi_phdr + info->dlpi_phnum; ++part) {
    if (part->p_type != PT_LOAD || (part->p_flags & PF_W) == 0) continue;
    range[0] = (info->dlpi_addr + part->p_vaddr) / page * page;
    range[1] = (info->dlpi_addr + part->p_vaddr + part->p_memsz + page - 1) / page * page;
  }
  return 1;  // the program comes first
}

/// Whether a walk through known rows gets by without writing to the program's data: a child tries.
bool writes_nothing() {
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGSEGV, SIG_DFL);
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    std::uint64_t range[2]{};
    ::dl_iterate_phdr(find_data, &range);
    void* const data = reinterpret_cast<void*>(range[0]);
    void* pcs[most];
    int count = 0;
    // The first turn remembers rows, and resolves the functions that are called.
    for (const int rights : {PROT_READ | PROT_WRITE, PROT_READ}) {
      if (::mprotect(data, range[1] - range[0], rights) != 0) ::_exit(2);
      count = sframe_unwind_backtrace(pcs, most);
    }
    ::mprotect(data, range[1] - range[0], PROT_READ | PROT_WRITE);
    ::_exit(count > 2 ? 0 : 3);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  expect((WIFEXITED(status) && WEXITSTATUS(status) == 0) || (WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV),
         "a walk with data that cannot be written to");
  return WIFEXITED(status);
}

}  // namespace

int main() {
  struct sigaction action = {};
  action.sa_handler = [](int) { compare(now); };
  action.sa_flags = SA_ONSTACK;
  ::sigaction(SIGUSR1, &action, nullptr);

  const long without = pages_of_preparing(SFRAME_UNWIND_NO_PAGES);
  expect(without < pages_of_preparing(0), "tables of pages");

  expect(sframe_unwind_backtrace_prepare() == 0, "preparing");
  compare_everywhere();
  expect(!writes_nothing(), "a walk that counts itself");
  constexpr unsigned flags = SFRAME_UNWIND_NO_PAGES | SFRAME_UNWIND_ONLY_PREPARED | SFRAME_UNWIND_KEEP_LISTS;
  expect(sframe_unwind_backtrace_prepare_with(nullptr, nullptr, flags) == 0, "preparing");
  expect(writes_nothing(), "a walk of kept lists");
  compare_everywhere();
  std::thread(compare_everywhere).join();
  sframe_unwind_backtrace_release();
  return good ? 0 : 1;
}
