#pragma once

#include <array>
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
inline constexpr sframe::AbiTraits host_traits = sframe::amd64_traits;
#elif defined(__aarch64__)
inline constexpr sframe::AbiTraits host_traits =
    host_endian == Endian::Big ? sframe::aarch64_big_traits : sframe::aarch64_traits;
#elif defined(__s390x__)
inline constexpr sframe::AbiTraits host_traits = sframe::s390x_traits;
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

}  // namespace sframe_gen::unwind
