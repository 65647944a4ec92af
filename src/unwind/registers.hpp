#pragma once

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sframe/format.hpp"
#include "sframe_gen/unwind.hpp"
#include "support/dwarf_registers.hpp"
#include "support/endian.hpp"

/// Where Linux saves registers: for a signal's handler, for a debugger, for perf.
namespace sframe_gen::unwind {

/// The machine that this runs on.
#if defined(__x86_64__)
inline constexpr sframe::AbiTraits host_abi = sframe::amd64_traits;
#elif defined(__aarch64__)
inline constexpr sframe::AbiTraits host_abi =
    host_endian == Endian::Big ? sframe::aarch64_big_traits : sframe::aarch64_traits;
#elif defined(__s390x__)
inline constexpr sframe::AbiTraits host_abi = sframe::s390x_traits;
#else
#error "SFrame has ABIs for x86-64, aarch64 and s390x"
#endif

/// Word `word` of a structure holds the register with this DWARF number.
struct SavedRegister {
  std::uint8_t word, number;
};

/// A structure of words of 8 bytes.
struct SavedRegisters {
  std::span<const SavedRegister> registers;
  std::uint8_t pc = 0;  ///< word

  /// Returns the word that holds a register, or 255.
  constexpr std::uint8_t word_of(std::uint32_t number) const {
    for (const SavedRegister& saved : registers) {
      if (saved.number == number) return saved.word;
    }
    return UINT8_MAX;
  }
};

namespace detail {

/// The structure's words hold these registers in order.
template <std::size_t count>
constexpr std::array<SavedRegister, count> in_order(const std::uint8_t (&numbers)[count]) {
  std::array<SavedRegister, count> saved{};
  for (std::size_t i = 0; i < count; ++i) saved[i] = {static_cast<std::uint8_t>(i), numbers[i]};
  return saved;
}

/// The registers 0 to `count` - 1 begin at word `first`.
template <std::uint8_t count>
constexpr std::array<SavedRegister, count> from_zero(std::uint8_t first) {
  std::array<SavedRegister, count> saved{};
  for (std::uint8_t i = 0; i < count; ++i) saved[i] = {static_cast<std::uint8_t>(first + i), i};
  return saved;
}

namespace amd64 = amd64_register;
// struct sigcontext, which mcontext_t begins with. rip is the next word.
inline constexpr auto amd64_signal =
    in_order({amd64::r8, amd64::r9, amd64::r10, amd64::r11, amd64::r12, amd64::r13, amd64::r14, amd64::r15, amd64::rdi,
              amd64::rsi, amd64::rbp, amd64::rbx, amd64::rdx, amd64::rax, amd64::rcx, amd64::rsp});
// struct user_regs_struct of <sys/user.h>: from word 15 to 18 orig_rax, rip, cs, eflags.
inline constexpr std::array<SavedRegister, 16> amd64_debugger = [] {
  constexpr auto first =
      in_order({amd64::r15, amd64::r14, amd64::r13, amd64::r12, amd64::rbp, amd64::rbx, amd64::r11, amd64::r10,
                amd64::r9, amd64::r8, amd64::rax, amd64::rcx, amd64::rdx, amd64::rsi, amd64::rdi});
  std::array<SavedRegister, 16> saved{};
  for (std::size_t i = 0; i < first.size(); ++i) saved[i] = first[i];
  saved[15] = {19, amd64::rsp};
  return saved;
}();
// enum perf_event_x86_regs: from 8 to 15 ip, flags and segments.
inline constexpr std::array<SavedRegister, 16> amd64_perf = [] {
  auto saved = in_order({amd64::rax, amd64::rbx, amd64::rcx, amd64::rdx, amd64::rsi, amd64::rdi, amd64::rbp, amd64::rsp,
                         amd64::r8, amd64::r9, amd64::r10, amd64::r11, amd64::r12, amd64::r13, amd64::r14, amd64::r15});
  for (std::size_t i = 8; i < saved.size(); ++i) saved[i].word += 8;
  return saved;
}();

// All of aarch64's structures have x0 to x30, sp, pc; sp's DWARF number is the one after x30's.
inline constexpr auto aarch64_any = from_zero<32>(0);

// struct s390_regs: the PSW's two words, the second the PC, and then r0 to r15.
inline constexpr auto s390x_debugger = from_zero<s390x_general_registers>(2);
/// r0 to r15 from word `general` on, f0 to f15 in the order of their names from word `floating` on.
constexpr std::array<SavedRegister, 32> s390x_with_floating(std::uint8_t general, std::uint8_t floating) {
  std::array<SavedRegister, 32> saved{};
  for (std::uint8_t i = 0; i < 16; ++i) {
    saved[i] = {static_cast<std::uint8_t>(general + i), i};
    saved[16U + i] = {static_cast<std::uint8_t>(floating + s390x_floating_point_order[i]),
                      static_cast<std::uint8_t>(16 + i)};
  }
  return saved;
}
// The PSW, 16 registers, 16 access registers of 4 bytes, and the floating-point registers after their control word.
inline constexpr auto s390x_signal = s390x_with_floating(2, 2 + 16 + 8 + 1);
// enum perf_event_s390_regs: r0 to r15, f0 to f15, mask, pc.
inline constexpr auto s390x_perf = s390x_with_floating(0, 16);

}  // namespace detail

/// What a signal frame holds, and mcontext_t: struct sigcontext of x86-64; of aarch64 after fault_address.
constexpr SavedRegisters saved_for_signal(sframe::Abi abi) {
  if (abi == sframe::Abi::Amd64) return {detail::amd64_signal, 16};
  if (abi == sframe::Abi::S390x) return {detail::s390x_signal, 1};
  return {detail::aarch64_any, 32};
}

/// What ptrace and core files have (NT_PRSTATUS): struct user_regs_struct of x86-64, user_pt_regs of arm64, s390_regs.
constexpr SavedRegisters saved_for_debugger(sframe::Abi abi) {
  if (abi == sframe::Abi::Amd64) return {detail::amd64_debugger, 16};
  if (abi == sframe::Abi::S390x) return {detail::s390x_debugger, 1};
  return {detail::aarch64_any, 32};
}

/// What perf records, by the numbers of asm/perf_regs.h.
constexpr SavedRegisters saved_by_perf(sframe::Abi abi) {
  if (abi == sframe::Abi::Amd64) return {detail::amd64_perf, 8};
  if (abi == sframe::Abi::S390x) return {detail::s390x_perf, 33};
  return {detail::aarch64_any, 32};
}

/// Sets `registers` from a structure. `word_at(word, value&)` is false where a word cannot be read; then this is too.
template <typename WordAt>
bool read_saved(const SavedRegisters& saved, WordAt&& word_at, Registers& registers) {
  for (const SavedRegister& one : saved.registers) {
    std::uint64_t value = 0;
    if (!word_at(one.word, value)) return false;
    registers.set(one.number, value);
  }
  return word_at(saved.pc, registers.pc);
}

/// What the kernel has pushed for a handler, as bytes above SP: where saved_for_signal() is, and siginfo_t.
struct SignalFrame {
  std::uint32_t registers_at = 0;  ///< 0: there is no frame
  std::uint32_t signal_at = 0;     ///< 0: there is none
};

/// Finds the frame that the system call at `pc` restores. A signal's handler returns to such a call. The vDSOs of
/// aarch64 and s390x (Linux 6.1) have no call frame information for it, and no row of s390x could express it; but where
/// the call finds the registers is part of the kernel's ABI. `read_code(address, bytes)` is false where code cannot be
/// read.
template <typename ReadCode>
SignalFrame find_signal_frame(sframe::Abi abi, std::uint64_t pc, ReadCode&& read_code) {
  switch (abi) {
    case sframe::Abi::Amd64:  // every C library describes its own
      return {};
    case sframe::Abi::Aarch64Big:
    case sframe::Abi::Aarch64Little: {
      constexpr std::uint32_t move_number = 0xd2801168, call = 0xd4000001;  // mov x8, #__NR_rt_sigreturn; svc #0
      const auto is_at = [&](std::uint64_t address, std::uint32_t instruction) {
        std::array<std::byte, sizeof instruction> bytes{};
        return read_code(address, std::span<std::byte>(bytes)) &&
               load<std::uint32_t>(bytes, Endian::Little) == instruction;
      };
      const std::uint64_t begin = is_at(pc, call) ? pc - 4 : pc;
      if (!is_at(begin, move_number) || !is_at(begin + 4, call)) return {};
      // siginfo; struct ucontext up to uc_mcontext, which is aligned to 16; fault_address.
      return {128 + 176 + 8};
    }
    case sframe::Abi::S390x: {
      constexpr std::uint16_t sigreturn = 0x0a77, rt_sigreturn = 0x0aad;  // svc 119, svc 173
      std::array<std::byte, sizeof sigreturn> bytes{};
      if (!read_code(pc, std::span<std::byte>(bytes))) return {};
      const auto instruction = load<std::uint16_t>(bytes, Endian::Big);
      // struct sigframe: the callee's 160 bytes, struct sigcontext. struct rt_sigframe: 160 bytes, an instruction,
      // siginfo; struct ucontext up to uc_mcontext.
      if (instruction == sigreturn) return {160 + 16};
      if (instruction == rt_sigreturn) return {160 + 8 + 128 + 40, 160 + 8};
      return {};
    }
  }
  return {};
}

/// What a thread's signal (NT_SIGINFO, siginfo_t) says of its PC: of some, the kernel makes it that of the next
/// instruction, which may be another function's. It counts as a return address then. Fewer bytes than siginfo_t begins
/// with say nothing.
inline void add_signal(sframe::Abi abi, std::span<const std::byte> bytes, Registers& registers) {
  constexpr std::size_t code_at = 8, address_at = 16, size = 24, longest_instruction = 6;
  if (bytes.size() < size) return;
  const Endian endian = sframe::traits_of(abi).endian;
  const auto number = load<std::uint32_t>(bytes, endian), code = load<std::uint32_t>(bytes.subspan(code_at), endian);
  const auto address = load<std::uint64_t>(bytes.subspan(address_at), endian);
  // int3: a trap without an address.
  const bool is_breakpoint = abi == sframe::Abi::Amd64 && number == SIGTRAP && code == SI_KERNEL;
  // The address is that of the instruction, which is complete or was suppressed (z/Architecture Principles of
  // Operation, chapter 6); of what was nullified, as by SIGSEGV, the PC is the instruction's.
  const bool is_done = abi == sframe::Abi::S390x && (number == SIGILL || number == SIGFPE || number == SIGTRAP) &&
                       registers.pc - address - 1 < longest_instruction;
  if (is_breakpoint || is_done) registers.pc_is_exact = 0;
}

/// If the instruction at the PC is the system call that a signal's handler returns to, puts the interrupted registers
/// into `registers`, and leaves these as they are otherwise. `read_code` is find_signal_frame()'s;
/// `word_at(address, value&)` reads 8 bytes of the stack in the order of the machine's bytes, or is false.
template <typename ReadCode, typename WordAt>
bool return_from_signal(const sframe::AbiTraits& abi, ReadCode&& read_code, WordAt&& word_at, Registers& registers) {
  if (!registers.knows(abi.stack_pointer)) return false;
  const SignalFrame frame = find_signal_frame(abi.abi, registers.pc, read_code);
  if (frame.registers_at == 0) return false;
  const std::uint64_t sp = registers.values[abi.stack_pointer];
  const auto saved_word = [&](std::uint8_t word, std::uint64_t& value) {
    return word_at(sp + frame.registers_at + std::uint64_t{8} * word, value);
  };
  Registers interrupted;
  if (!read_saved(saved_for_signal(abi.abi), saved_word, interrupted) || interrupted.pc == 0) return false;
  std::array<std::byte, 24> signal{};
  bool has_signal = frame.signal_at != 0;
  for (std::size_t at = 0; has_signal && at < signal.size(); at += 8) {
    std::uint64_t value = 0;
    has_signal = word_at(sp + frame.signal_at + at, value);
    store(std::span(signal).subspan(at), value, abi.endian);
  }
  if (has_signal) add_signal(abi.abi, signal, interrupted);
  registers = interrupted;
  return true;
}

}  // namespace sframe_gen::unwind
