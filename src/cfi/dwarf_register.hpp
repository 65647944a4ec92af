#pragma once

#include <cstdint>
#include <optional>

namespace sframe_gen::cfi {

/// A DWARF register number: any may come in, only those the program looks at have names.
enum class DwarfRegister : std::uint32_t {};

/// The columns of the unwind table that SFrame can speak of, and the column the CIE must return by.
struct TrackedRegisters {
  DwarfRegister stack_pointer{};
  DwarfRegister frame_pointer{};
  DwarfRegister return_address{};
  /// RA_SIGN_STATE, a column that holds whether the return address is signed. No value: the machine signs none.
  std::optional<DwarfRegister> signing_state = std::nullopt;
};

/// System V ABI, AMD64 Architecture Processor Supplement, figure 3.36.
namespace amd64 {
inline constexpr DwarfRegister rbp{6}, rsp{7}, return_address{16};
inline constexpr TrackedRegisters tracked{rsp, rbp, return_address};
}  // namespace amd64

/// DWARF for the Arm 64-bit Architecture, table 1: sp 31, x29, x30, RA_SIGN_STATE 34.
namespace aarch64 {
inline constexpr TrackedRegisters tracked{DwarfRegister{31}, DwarfRegister{29}, DwarfRegister{30}, DwarfRegister{34}};
}  // namespace aarch64

/// ELF Application Binary Interface, s390x Supplement, table 1.7: r15, r11, r14.
namespace s390x {
inline constexpr TrackedRegisters tracked{DwarfRegister{15}, DwarfRegister{11}, DwarfRegister{14}};
}  // namespace s390x

/// `elf_machine` is an e_machine. Null: no machine that SFrame knows.
const TrackedRegisters* find_tracked_registers(std::uint16_t elf_machine);

}  // namespace sframe_gen::cfi
