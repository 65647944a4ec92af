#include "unwind/host.hpp"

#include <ucontext.h>

#include <cstring>

#include "support/dwarf_registers.hpp"

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
#if !defined(SFRAME_GEN_UNWIND_EXPORTED)
asm(".hidden sframe_backtrace");
#endif

namespace sframe_gen::unwind {

void read_ucontext(const void* data, Registers& registers) {
  const auto& context = *static_cast<const ucontext_t*>(data);
  registers.pc_is_exact = 1;
#if defined(__x86_64__)
  struct Saved {
    std::uint8_t number;
    int place;
  };
  namespace dwarf = amd64_register;
  constexpr Saved all[]{{dwarf::rax, REG_RAX}, {dwarf::rdx, REG_RDX}, {dwarf::rcx, REG_RCX}, {dwarf::rbx, REG_RBX},
                        {dwarf::rsi, REG_RSI}, {dwarf::rdi, REG_RDI}, {dwarf::rbp, REG_RBP}, {dwarf::rsp, REG_RSP},
                        {dwarf::r8, REG_R8},   {dwarf::r9, REG_R9},   {dwarf::r10, REG_R10}, {dwarf::r11, REG_R11},
                        {dwarf::r12, REG_R12}, {dwarf::r13, REG_R13}, {dwarf::r14, REG_R14}, {dwarf::r15, REG_R15}};
  for (const Saved& saved : all) {
    registers.set(saved.number, static_cast<std::uint64_t>(context.uc_mcontext.gregs[saved.place]));
  }
  registers.pc = static_cast<std::uint64_t>(context.uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  for (std::uint32_t i = 0; i < aarch64_general_registers; ++i) registers.set(i, context.uc_mcontext.regs[i]);
  registers.set(aarch64_registers.stack_pointer, context.uc_mcontext.sp);
  registers.pc = context.uc_mcontext.pc;
#elif defined(__s390x__)
  for (std::uint32_t i = 0; i < s390x_general_registers; ++i) {
    registers.set(i, context.uc_mcontext.gregs[i]);
    std::uint64_t bits = 0;
    std::memcpy(&bits, &context.uc_mcontext.fpregs.fprs[s390x_floating_point_order[i]], sizeof bits);
    registers.set(s390x_general_registers + i, bits);
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
