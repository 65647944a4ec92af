// backtrace(), _Unwind_Backtrace() and unw_backtrace() by rows. The entries keep the caller's registers: where rows do
// not lead to the outermost frame, the original function is jumped to as if it had been called. Its walk then has no
// frame of ours.

#include <unwind.h>

#include <cstddef>
#include <cstdint>

#include "backtrace/originals.hpp"
#include "backtrace/own_context.hpp"
#include "backtrace/state.hpp"
#include "sframe_gen/unwind.h"

// entry NAME, WALK, OFFSET: calls WALK(first argument, second argument, SP, PC and FP of the caller). A negative result
// means the original, which is in the table at this offset.
#if defined(__x86_64__)
asm(R"(
        .text
        .macro  entry name, walk, offset
        .globl  \name
        .type   \name, @function
\name:
        .cfi_startproc
        endbr64
        pushq   %rsi
        .cfi_adjust_cfa_offset 8
        pushq   %rdi
        .cfi_adjust_cfa_offset 8
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        leaq    32(%rsp), %rdx
        movq    24(%rsp), %rcx
        movq    %rbp, %r8
        call    \walk
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        popq    %rdi
        .cfi_adjust_cfa_offset -8
        popq    %rsi
        .cfi_adjust_cfa_offset -8
        testl   %eax, %eax
        js      1f
        ret
1:      jmp     *sframe_backtrace_originals + \offset(%rip)
        .cfi_endproc
        .size   \name, . - \name
        .endm
)"
#elif defined(__aarch64__)
asm(R"(
        .text
        .macro  entry name, walk, offset
        .globl  \name
        .type   \name, %function
\name:
        .cfi_startproc
        hint    #34             // bti c
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset 29, -32
        .cfi_offset 30, -24
        stp     x0, x1, [sp, #16]
        add     x2, sp, #32
        mov     x3, x30
        mov     x4, x29
        bl      \walk
        mov     w9, w0
        ldp     x0, x1, [sp, #16]
        ldp     x29, x30, [sp], #32
        .cfi_def_cfa_offset 0
        .cfi_restore 29
        .cfi_restore 30
        tbnz    w9, #31, 1f
        mov     w0, w9
        ret
1:      adrp    x16, sframe_backtrace_originals + \offset
        ldr     x16, [x16, #:lo12:sframe_backtrace_originals + \offset]
        br      x16
        .cfi_endproc
        .size   \name, . - \name
        .endm
)"
#endif
    R"(
        entry   backtrace, sframe_backtrace_walk, 0
        entry   _Unwind_Backtrace, sframe_backtrace_unwind, 8
        entry   unw_backtrace, sframe_backtrace_unw_walk, 16
        .purgem entry
)");

namespace sframe_gen::backtrace {
namespace {

static_assert(offsetof(Originals, backtrace) == 0 && offsetof(Originals, unwind_backtrace) == 8 &&
              offsetof(Originals, unw_backtrace) == 16);

constexpr int by_original = -1;
/// Frames that a walk finds before callbacks get them: 24 bytes each, on stacks that may be small.
constexpr int piece = 16;

#if defined(__x86_64__)
constexpr std::uint32_t stack_pointer = 7, frame_pointer = 6;
constexpr bool cfa_is_elsewhere = false;
#elif defined(__aarch64__)
constexpr std::uint32_t stack_pointer = 31, frame_pointer = 29;
constexpr bool cfa_is_elsewhere = true;
#endif

bool was_called;  ///< backtrace()

int leave_to_original(int why) {
  count_original(why);
  return by_original;
}

/// The other values stay as they are, and are not read.
void set(sframe_unwind_registers& registers, std::uint64_t sp, std::uint64_t pc, std::uint64_t fp) {
  registers.pc = pc;
  registers.pc_is_exact = 0;
  registers.values[stack_pointer] = sp;
  registers.values[frame_pointer] = fp;
  registers.known = 1U << stack_pointer | 1U << frame_pointer;
}

/// Whether the original would have the frame's caller, too. Rows also describe code that no table of the original does,
/// such as call stubs, which only a signal interrupts: walks pause there.
bool is_also_originals(const sframe_unwind_registers& registers) {
  return registers.pc_is_exact == 0 || is_described(registers.pc);
}

/// Returns why the original has to answer; 0: it has not.
int why_original(int stop, const sframe_unwind_registers& registers) {
  if (stop != SFRAME_UNWIND_STEPPED && stop != SFRAME_UNWIND_OUTERMOST) return stop;
  return is_also_originals(registers) ? 0 : RowsOnly;
}

/// The same where the original tells whether the last frame has a table.
int why_original_with_end(int stop, const sframe_unwind_registers& registers) {
  const int why = why_original(stop, registers);
  const bool is_end = stop == SFRAME_UNWIND_OUTERMOST && registers.pc_is_exact == 0;
  return why == 0 && is_end && !is_call_described(registers.pc) ? static_cast<int>(RowsOnly) : why;
}

/// Fills `buffer` from the frame with these registers outwards. Returns how many, or that the original has to.
int walk_pcs(void** buffer, int size, std::uint64_t sp, std::uint64_t pc, std::uint64_t fp,
             int (*why_original_is)(int, const sframe_unwind_registers&)) {
  sframe_unwind_registers registers;
  set(registers, sp, pc, fp);
  int stop = 0;
  int count = sframe_unwind_backtrace_from(buffer, size, &registers, &stop);
  for (;;) {
    if (const int why = why_original_is(stop, registers)) return leave_to_original(why);
    if (stop == SFRAME_UNWIND_OUTERMOST || count >= size) break;
    // The last frame comes again.
    count += sframe_unwind_backtrace_from(buffer + count - 1, size - count + 1, &registers, &stop) - 1;
  }
  count_walk(count);
  return count;
}

/// Calls a callback with frames.
class Callbacks {
 public:
  Callbacks(_Unwind_Trace_Fn callback, void* argument, const sframe_unwind_registers& first)
      : callback_(callback), argument_(argument) {
    context_.first_pc = first.pc;
    context_.first_sp = first.values[stack_pointer];
  }

  /// False: the callback wants no more.
  bool call(const sframe_unwind_frame& frame) {
    context_.pc = frame.pc;
    // There, libgcc takes the kernel's structure for the CFA of interrupted code, whose SP is one of its registers.
    const bool is_elsewhere = cfa_is_elsewhere && frame.pc_is_exact != 0;
    context_.sp = is_elsewhere ? 0 : frame.sp;
    context_.is_exact = frame.pc_is_exact != 0;
    return call();
  }

  /// After the outermost frame libgcc has one more, with PC 0.
  bool call_at_end() {
    context_.last_pc = context_.is_exact ? 0 : context_.pc;
    context_.last_sp = context_.sp;
    context_.pc = 0;
    context_.sp = 0;
    context_.is_exact = false;
    return call();
  }

  _Unwind_Reason_Code go_on_by_original() { return walk_on(context_, callback_, argument_); }

  std::uint32_t calls() const { return context_.number; }

 private:
  bool call() {
    const bool wants_more = callback_(reinterpret_cast<_Unwind_Context*>(&context_), argument_) == _URC_NO_REASON;
    ++context_.number;
    return wants_more;
  }

  OwnContext context_;
  _Unwind_Trace_Fn callback_;
  void* argument_;
};

}  // namespace
}  // namespace sframe_gen::backtrace

using namespace sframe_gen::backtrace;

extern "C" [[gnu::visibility("hidden"), gnu::used]] int sframe_backtrace_walk(void** buffer, int size, std::uint64_t sp,
                                                                              std::uint64_t pc, std::uint64_t fp) {
  if (!__atomic_load_n(&is_prepared, __ATOMIC_ACQUIRE)) {
    if (sframe_backtrace_originals.backtrace == nullptr) find_loaded_originals();
    return leave_to_original(NotPrepared);
  }
  if (!__atomic_load_n(&was_called, __ATOMIC_RELAXED)) [[unlikely]] {
    __atomic_store_n(&was_called, true, __ATOMIC_RELAXED);
    return leave_to_original(FirstCall);
  }
  if (!is_glibcs()) return leave_to_original(OtherFunction);
  return walk_pcs(buffer, size, sp, pc, fp, why_original);
}

extern "C" [[gnu::visibility("hidden"), gnu::used]] int sframe_backtrace_unw_walk(void** buffer, int size,
                                                                                  std::uint64_t sp, std::uint64_t pc,
                                                                                  std::uint64_t fp) {
  if (sframe_backtrace_originals.unw_backtrace == nullptr) {
    if (sframe_backtrace_originals.backtrace == nullptr) find_loaded_originals();
    find_unw_backtrace();
  }
  if (!__atomic_load_n(&is_prepared, __ATOMIC_ACQUIRE)) return leave_to_original(NotPrepared);
  if (!is_libunwinds()) return leave_to_original(OtherFunction);
  return walk_pcs(buffer, size, sp, pc, fp, why_original_with_end);
}

extern "C" [[gnu::visibility("hidden"), gnu::used]] int sframe_backtrace_unwind(_Unwind_Trace_Fn callback,
                                                                                void* argument, std::uint64_t sp,
                                                                                std::uint64_t pc, std::uint64_t fp) {
  if (original<&Originals::unwind_backtrace>() == nullptr) return _URC_END_OF_STACK;
  if (!__atomic_load_n(&is_prepared, __ATOMIC_ACQUIRE)) return leave_to_original(NotPrepared);
  if (!is_libgccs()) return leave_to_original(OtherFunction);
  sframe_unwind_registers registers;
  set(registers, sp, pc, fp);
  Callbacks callbacks(callback, argument, registers);
  sframe_unwind_frame frames[piece];
  int stop = 0;
  for (int first = 0;; first = 1) {  // a later piece begins with the last frame of the one before
    const int count = sframe_unwind_backtrace_frames(frames, piece, &registers, &stop);
    if (const int why = why_original_with_end(stop, registers)) {
      count_original(why);
      return callbacks.calls() == 0 ? by_original : callbacks.go_on_by_original();
    }
    for (int i = first; i < count; ++i) {
      if (callbacks.call(frames[i])) continue;
      count_walk(static_cast<int>(callbacks.calls()));
      return _URC_FATAL_PHASE1_ERROR;  // what libgcc's returns then
    }
    if (stop != SFRAME_UNWIND_OUTERMOST) continue;
    count_walk(static_cast<int>(callbacks.calls()));
    return callbacks.call_at_end() ? _URC_END_OF_STACK : _URC_FATAL_PHASE1_ERROR;
  }
}
