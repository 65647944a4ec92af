#include "unwind/host.hpp"

#include <ucontext.h>

#include <cstring>

#include "unwind/registers.hpp"

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
  // On aarch64 fault_address comes first.
  constexpr std::size_t first_word = host_abi.abi == sframe::Abi::Amd64 || host_abi.abi == sframe::Abi::S390x ? 0 : 1;
  const auto* const words = reinterpret_cast<const std::byte*>(&context.uc_mcontext) + 8 * first_word;
  registers.pc_is_exact = 1;
  read_saved(
      saved_for_signal(host_abi.abi),
      [&](std::uint8_t word, std::uint64_t& value) {
        std::memcpy(&value, words + std::size_t{8} * word, sizeof value);
        return true;
      },
      registers);
}

Range known_stack(const void* data, const Registers& interrupted, std::uint64_t here) {
  constexpr std::uint64_t farthest = 1U << 18U;  // bytes of the kernel's frame and the handler's callees: some KiB
  constexpr std::uint64_t red_zone = 160;        // the largest of the three machines': the kernel writes below it
  const stack_t& alternate = static_cast<const ucontext_t*>(data)->uc_stack;
  const std::uint64_t sp = interrupted.values[host_abi.stack_pointer];
  const bool on_alternate = here - reinterpret_cast<std::uint64_t>(alternate.ss_sp) < alternate.ss_size;
  if (on_alternate || sp <= here || sp - here > farthest) return {};
  return {here, sp - red_zone};
}

bool return_from_signal(StackMemory& memory, Registers& registers) {
  if (!registers.knows(host_abi.stack_pointer)) return false;
  StackMemory code({}, {});
  const SignalFrame frame =
      find_signal_frame(host_abi.abi, registers.pc, [&](std::uint64_t address, std::span<std::byte> bytes) {
        // An instruction is in one aligned word, and so in one page.
        std::uint64_t word = 0;
        if (address % bytes.size() != 0 || !code.word(address / 8 * 8, word)) return false;
        std::memcpy(bytes.data(), reinterpret_cast<const std::byte*>(&word) + address % 8, bytes.size());
        return true;
      });
  if (frame.registers_at == 0) return false;
  const std::uint64_t first = registers.values[host_abi.stack_pointer] + frame.registers_at;
  Registers interrupted;
  const auto word_at = [&](std::uint8_t word, std::uint64_t& value) {
    return memory.word(first + std::uint64_t{8} * word, value);
  };
  if (!read_saved(saved_for_signal(host_abi.abi), word_at, interrupted) || interrupted.pc == 0) return false;
  registers = interrupted;
  return true;
}

}  // namespace sframe_gen::unwind
