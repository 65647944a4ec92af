#include "sampler.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <ucontext.h>
#include <unwind.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "sframe_gen/find_rows.hpp"
#include "sframe_gen/unwind.h"

namespace sframe_gen::unwind {

namespace {

constexpr greg_t trap_flag = 0x100;  ///< in rflags: SIGTRAP after each instruction

/// A walk that is not libgcc's.
struct Difference {
  std::uint64_t interrupted_pc, ours, libgcc;  ///< 0: the walk was over
  std::size_t frame;
  Stop end;
  bool from_handler;
};

// Signal handlers have no other way to what they need.
const Tables* tables;
Tally tally;
volatile std::uint64_t limit;
volatile bool step_on;
std::array<Difference, 10> differences;
std::uint64_t difference_count;
thread_local Stack stack;

/// libgcc's walk from the handler: the handler, __restore_rt, the interrupted code, ...
struct LibgccWalk {
  Pcs pcs;
  std::size_t interrupted = 0;  ///< index of the first frame that was interrupted
};
LibgccWalk libgcc;
Pcs ours;
Pcs ours_in_process;

_Unwind_Reason_Code add_frame(_Unwind_Context* context, void*) {
  int before_instruction = 0;
  const std::uint64_t pc = _Unwind_GetIPInfo(context, &before_instruction);
  if (pc == 0 || libgcc.pcs.full()) return _URC_END_OF_STACK;
  if (before_instruction != 0 && libgcc.interrupted == 0) libgcc.interrupted = libgcc.pcs.size();
  libgcc.pcs.add(pc);
  return _URC_NO_REASON;
}

Registers registers_of(const ucontext_t& context) {
  constexpr std::array numbers{REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP,
                               REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  Registers registers;
  for (std::uint32_t i = 0; i < numbers.size(); ++i)
    registers.set(i, static_cast<std::uint64_t>(context.uc_mcontext.gregs[numbers[i]]));
  registers.pc = static_cast<std::uint64_t>(context.uc_mcontext.gregs[REG_RIP]);
  return registers;
}

/// Our frames [first_ours, …) are libgcc's [first_libgcc, …). Ours may end early only where .sframe says nothing.
void compare(Stop end, std::size_t first_ours, std::size_t first_libgcc, std::uint64_t interrupted_pc) {
  const std::size_t our_count = ours.size() - first_ours;
  const std::size_t libgcc_count = libgcc.pcs.size() - first_libgcc;
  const bool may_be_cut =
      end == Stop::NoSection || end == Stop::NoRow || (end == Stop::UnknownRegister && first_ours != 0);
  for (std::size_t i = 0; i < our_count || i < libgcc_count; ++i) {
    if (i == our_count && may_be_cut) {
      ++tally.cut[static_cast<std::size_t>(end)];
      return;
    }
    const std::uint64_t our_pc = i < our_count ? ours[first_ours + i] : 0;
    const std::uint64_t libgcc_pc = i < libgcc_count ? libgcc.pcs[first_libgcc + i] : 0;
    if (our_pc != libgcc_pc) {
      if (difference_count < differences.size())
        differences[difference_count] = {interrupted_pc, our_pc, libgcc_pc, i, end, first_ours != 0};
      ++difference_count;
      return;
    }
    ++tally.frames;
  }
}

/// Both walkers of the library, on one stack.
void compare_own(Stop end, const void* context, std::uint64_t interrupted_pc) {
  const Stop own_end = walk_own(context, ours_in_process);
  std::size_t i = 0;
  while (i < ours.size() && i < ours_in_process.size() && ours[i] == ours_in_process[i]) ++i;
  if (own_end == end && i == ours.size() && i == ours_in_process.size()) {
    ++tally.own_walks;
    return;
  }
  if (difference_count < differences.size())
    differences[difference_count] = {interrupted_pc, ours[i], 0, i, own_end, false};
  ++difference_count;
}

void count_innermost(std::uint64_t pc) {
  const LoadedFile* const file = tables->find(pc);
  const sframe::Fde* const innermost = file != nullptr ? sframe::find_fde(file->section, pc) : nullptr;
  if (innermost == nullptr) return;
  tally.in_plt += innermost->pc_type == sframe::PcType::Mask;
  tally.in_flexible += innermost->type == sframe::FdeType::Flexible;
  const sframe::Fre* const row = sframe::find_fre(*innermost, pc - innermost->start);
  tally.in_first_row += row == innermost->fres.data();
}

/// On its way to a landing pad libgcc writes the pad's registers, return address included, over those its own frame has
/// saved (uw_install_context). From there on the stack is none, and libgcc's own walk would read at any address.
bool is_landing(Stop end, std::uint64_t pc) {
  if (end != Stop::NoModule && end != Stop::UnreadableMemory && end != Stop::NoProgress) return false;
  const LoadedFile* const file = tables->find(pc);
  return file != nullptr && file->name.find("libgcc_s") != std::string::npos;
}

void on_signal(int, siginfo_t*, void* data) {
  auto& context = *static_cast<ucontext_t*>(data);
  if (step_on) context.uc_mcontext.gregs[REG_EFL] |= trap_flag;
  step_on = false;
  if (tally.samples >= limit) {
    context.uc_mcontext.gregs[REG_EFL] &= ~trap_flag;
    return;
  }
  ++tally.samples;
  const Registers interrupted = registers_of(context);
  const Stop from_context = walk(*tables, interrupted, stack, ours);
  if (is_landing(from_context, interrupted.pc)) {
    ++tally.landing;
    return;
  }
  compare_own(from_context, data, interrupted.pc);
  libgcc.pcs.clear();
  libgcc.interrupted = 0;
  _Unwind_Backtrace(add_frame, nullptr);

  tally.outermost += from_context == Stop::Outermost;
  count_innermost(interrupted.pc);
  compare(from_context, 0, libgcc.interrupted, interrupted.pc);

  // And from here, through the trampoline. This frame's own PC is another than the one libgcc saw.
  Registers here;
  std::uint64_t sp = 0;
  std::uint64_t fp = 0;
  asm volatile("leaq 0(%%rip), %0\n\tmovq %%rsp, %1\n\tmovq %%rbp, %2" : "=&r"(here.pc), "=&r"(sp), "=&r"(fp));
  here.set(7, sp);
  here.set(6, fp);
  const Stop from_here = walk(*tables, here, stack, ours);
  tally.through_trampoline += ours.size() > 2;
  compare(from_here, 1, 1, interrupted.pc);
}

void check(bool condition, const char* what) {
  if (condition) return;
  std::perror(what);
  std::exit(1);
}

void print_place(const char* what, std::uint64_t pc) {
  Dl_info info{};
  if (pc != 0 && ::dladdr(reinterpret_cast<const void*>(pc), &info) != 0) {
    std::printf("  %s %#lx %s+%#lx (%s)\n", what, pc, info.dli_fname,
                pc - reinterpret_cast<std::uint64_t>(info.dli_fbase), info.dli_sname != nullptr ? info.dli_sname : "?");
  } else {
    std::printf("  %s %#lx\n", what, pc);
  }
}

}  // namespace

void start_sampling(const Tables& all_tables) {
  tables = &all_tables;
  know_stack_of_this_thread();
  struct sigaction action = {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  check(::sigaction(SIGTRAP, &action, nullptr) == 0, "sigaction");
  check(sframe_unwind_backtrace_prepare() == 0, "sframe_unwind_backtrace_prepare");
  // libgcc sets itself up on its first walk; that is not to happen in the middle of a step.
  sample_here();
  tally = {};
}

void know_stack_of_this_thread() {
  pthread_attr_t attributes;
  void* low = nullptr;
  std::size_t size = 0;
  check(::pthread_getattr_np(::pthread_self(), &attributes) == 0, "pthread_getattr_np");
  check(::pthread_attr_getstack(&attributes, &low, &size) == 0, "pthread_attr_getstack");
  ::pthread_attr_destroy(&attributes);
  stack = {reinterpret_cast<std::uint64_t>(low), reinterpret_cast<std::uint64_t>(low) + size};
}

void step_from_here(std::uint64_t most) {
  limit = most;
  step_on = true;
  ::raise(SIGTRAP);
}

void stop_stepping() {
  limit = 0;
}

void sample_here() {
  limit = tally.samples + 1;
  ::raise(SIGTRAP);
}

Tally take_tally() {
  const Tally taken = tally;
  tally = {};
  return taken;
}

std::uint64_t report_differences() {
  for (std::size_t i = 0; i < differences.size() && i < difference_count; ++i) {
    const Difference& d = differences[i];
    std::printf("difference in frame %zu of a walk from the %s, which ended with reason %d\n", d.frame,
                d.from_handler ? "handler" : "interrupted code", static_cast<int>(d.end));
    print_place("interrupted at", d.interrupted_pc);
    print_place("ours          ", d.ours);
    print_place("libgcc's      ", d.libgcc);
  }
  return difference_count;
}

}  // namespace sframe_gen::unwind
