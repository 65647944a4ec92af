#pragma once

#include <cstdint>
#include <optional>

/// The DWARF numbers of the registers that unwinding turns on, by machine: the only place that knows them. Names of all
/// others are the business of messages (verify/rule_text.cpp).
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

}  // namespace sframe_gen
