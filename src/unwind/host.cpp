#include "unwind/host.hpp"

#include <ucontext.h>

#include <cstring>

// A function that hands on what it was called with: a compiler would have changed SP and FP before any code of ours.
#if defined(__x86_64__)
asm(R"(
        .text
        .globl  sframe_backtrace
        .type   sframe_backtrace, @function
sframe_backtrace:
        .cfi_startproc
        leaq    8(%rsp), %rdx
        movq    (%rsp), %rcx
        movq    %rbp, %r8
        jmp     sframe_gen_backtrace_from
        .cfi_endproc
        .size   sframe_backtrace, . - sframe_backtrace
)");
#elif defined(__aarch64__)
asm(R"(
        .text
        .globl  sframe_backtrace
        .type   sframe_backtrace, %function
sframe_backtrace:
        .cfi_startproc
        hint    #34     // bti c
        mov     x2, sp
        mov     x3, x30
        mov     x4, x29
        b       sframe_gen_backtrace_from
        .cfi_endproc
        .size   sframe_backtrace, . - sframe_backtrace
)");
#elif defined(__s390x__)
// The fifth argument's register is the caller's.
asm(R"(
        .text
        .globl  sframe_backtrace
        .type   sframe_backtrace, @function
sframe_backtrace:
        .cfi_startproc
        stmg    %r6, %r15, 48(%r15)
        .cfi_rel_offset 6, -112
        .cfi_rel_offset 14, -48
        .cfi_rel_offset 15, -40
        lgr     %r4, %r15
        lgr     %r5, %r14
        lgr     %r6, %r11
        aghi    %r15, -160
        .cfi_adjust_cfa_offset 160
        brasl   %r14, sframe_gen_backtrace_from
        lmg     %r6, %r15, 208(%r15)
        .cfi_adjust_cfa_offset -160
        br      %r14
        .cfi_endproc
        .size   sframe_backtrace, . - sframe_backtrace
)");
#endif

namespace sframe_gen::unwind {

void read_ucontext(const void* data, Registers& registers) {
  const auto& context = *static_cast<const ucontext_t*>(data);
  registers.pc_is_exact = 1;
#if defined(__x86_64__)
  constexpr int numbers[]{REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP,
                          REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  for (std::uint32_t i = 0; i < 16; ++i) {
    registers.set(i, static_cast<std::uint64_t>(context.uc_mcontext.gregs[numbers[i]]));
  }
  registers.pc = static_cast<std::uint64_t>(context.uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  for (std::uint32_t i = 0; i < 31; ++i) registers.set(i, context.uc_mcontext.regs[i]);
  registers.set(31, context.uc_mcontext.sp);
  registers.pc = context.uc_mcontext.pc;
#elif defined(__s390x__)
  // DWARF's 16 to 31 are the floating-point registers in this order (ELF ABI s390x Supplement, table 1.7).
  constexpr int floats[]{0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15};
  for (std::uint32_t i = 0; i < 16; ++i) {
    registers.set(i, context.uc_mcontext.gregs[i]);
    std::uint64_t bits = 0;
    std::memcpy(&bits, &context.uc_mcontext.fpregs.fprs[floats[i]], sizeof bits);
    registers.set(16 + i, bits);
  }
  registers.pc = context.uc_mcontext.psw.addr;
#endif
}

KnownStack known_stack(const void* data, const Registers& interrupted, std::uint64_t here) {
  constexpr std::uint64_t farthest =
      1U << 18U;                           // of a handler from what it interrupted: the kernel's frame is some KiB
  constexpr std::uint64_t red_zone = 160;  // the largest of the three machines': the kernel writes below it
  const stack_t& alternate = static_cast<const ucontext_t*>(data)->uc_stack;
  const std::uint64_t sp = interrupted.values[host_abi.stack_pointer];
  const bool on_alternate = here - reinterpret_cast<std::uint64_t>(alternate.ss_sp) < alternate.ss_size;
  if (on_alternate || sp <= here || sp - here > farthest) return {};
  return {here, sp - red_zone};
}

}  // namespace sframe_gen::unwind
