#pragma once

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sframe/format.hpp"
#include "sframe_gen/unwind.hpp"
#include "support/endian.hpp"
#include "unwind/registers.hpp"

/// Steps out of a signal's handler where no row can: by where Linux puts the registers of what was interrupted.
namespace sframe_gen::unwind {

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
