#pragma once

#include <array>
#include <cstdint>
#include <optional>

/// The DWARF numbers of registers, by machine: the only place that knows them. What they are called in messages is the
/// business of sframe/names.cpp.
namespace sframe_gen {

struct DwarfRegisters {
  std::uint32_t stack_pointer = 0;
  std::uint32_t frame_pointer = 0;
  std::uint32_t return_address = 0;  ///< the column a CIE returns by
  /// RA_SIGN_STATE, a column that holds whether the return address is signed. No value: the machine signs none.
  std::optional<std::uint32_t> signing_state = std::nullopt;
};

/// System V ABI, AMD64 Architecture Processor Supplement, figure 3.36: rsp 7, rbp 6. Column 16 stands for rip.
inline constexpr DwarfRegisters amd64_registers{7, 6, 16};
/// DWARF for the Arm 64-bit Architecture, table 1: sp 31, x29, x30, RA_SIGN_STATE 34.
inline constexpr DwarfRegisters aarch64_registers{31, 29, 30, 34};
/// ELF Application Binary Interface, s390x Supplement, table 1.7: r15, r11, r14.
inline constexpr DwarfRegisters s390x_registers{15, 11, 14};

// What a kernel saves for a signal is in an order of its own. The tables are those named above.

namespace amd64_register {
inline constexpr std::uint8_t rax = 0, rdx = 1, rcx = 2, rbx = 3, rsi = 4, rdi = 5, rbp = 6, rsp = 7, r8 = 8, r9 = 9,
                              r10 = 10, r11 = 11, r12 = 12, r13 = 13, r14 = 14, r15 = 15;
}

/// x0 to x30 have the numbers from 0.
inline constexpr std::uint32_t aarch64_general_registers = 31;

/// r0 to r15 have the numbers from 0, and then come f0, f2, f4, f6, f1, ...
inline constexpr std::uint32_t s390x_general_registers = 16;
inline constexpr std::array<std::uint8_t, 16> s390x_floating_point_order{0, 2,  4,  6,  1, 3,  5,  7,
                                                                         8, 10, 12, 14, 9, 11, 13, 15};

}  // namespace sframe_gen
