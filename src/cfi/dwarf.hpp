#pragma once

#include <cstdint>
#include <optional>

#include "sframe_gen/format.hpp"
#include "support/dwarf_registers.hpp"

/// DWARF numbers that the interpreters know (DWARF 5, sections 7.24 and 7.7.1; LSB 5.0, section 10.5 for DW_EH_PE).
/// <dwarf.h> is not used for them: its 2021 edition lacks some, and only two files may see libdwarf.
namespace sframe_gen::cfi {

enum class CfaOpcode : std::uint8_t {
  Nop = 0x00,
  SetLoc = 0x01,
  AdvanceLoc1 = 0x02,
  AdvanceLoc2 = 0x03,
  AdvanceLoc4 = 0x04,
  OffsetExtended = 0x05,
  RestoreExtended = 0x06,
  Undefined = 0x07,
  SameValue = 0x08,
  Register = 0x09,
  RememberState = 0x0a,
  RestoreState = 0x0b,
  DefCfa = 0x0c,
  DefCfaRegister = 0x0d,
  DefCfaOffset = 0x0e,
  DefCfaExpression = 0x0f,
  Expression = 0x10,
  OffsetExtendedSf = 0x11,
  DefCfaSf = 0x12,
  DefCfaOffsetSf = 0x13,
  ValOffset = 0x14,
  ValOffsetSf = 0x15,
  ValExpression = 0x16,
  MipsAdvanceLoc8 = 0x1d,             ///< GNU as uses it for advances beyond 4 GiB
  AArch64NegateRaStateWithPc = 0x2c,  ///< the same, and the PC goes into the signature (PAuth_LR)
  AArch64NegateRaState = 0x2d,       ///< the return address is signed from here on, or no longer; not on other machines
  GnuArgsSize = 0x2e,                ///< outgoing arguments on the stack; only exception handling cares
  GnuNegativeOffsetExtended = 0x2f,  ///< obsolete form of offset_extended_sf
  AdvanceLoc = 0x40,                 ///< low six bits: delta
  Offset = 0x80,                     ///< low six bits: register
  Restore = 0xc0,                    ///< low six bits: register
};

enum class Operation : std::uint8_t {
  Addr = 0x03,
  Deref = 0x06,
  Const1u = 0x08,
  Const1s = 0x09,
  Const2u = 0x0a,
  Const2s = 0x0b,
  Const4u = 0x0c,
  Const4s = 0x0d,
  Const8u = 0x0e,
  Const8s = 0x0f,
  Constu = 0x10,
  Consts = 0x11,
  Dup = 0x12,
  Drop = 0x13,
  Over = 0x14,
  Swap = 0x16,
  And = 0x1a,
  Minus = 0x1c,
  Plus = 0x22,
  PlusUconst = 0x23,
  Shl = 0x24,
  Ge = 0x2a,
  Lit0 = 0x30,
  Lit31 = 0x4f,
  Breg0 = 0x70,
  Breg31 = 0x8f,
  Bregx = 0x92,
  DerefSize = 0x94,
  Nop = 0x96,
};

namespace pointer_encoding {
inline constexpr std::uint8_t absptr = 0x00, uleb128 = 0x01, udata2 = 0x02, udata4 = 0x03, udata8 = 0x04,
                              sleb128 = 0x09, sdata2 = 0x0a, sdata4 = 0x0b, sdata8 = 0x0c, format_mask = 0x0f;
inline constexpr std::uint8_t pc_relative = 0x10, aligned = 0x50, application_mask = 0x70, indirect = 0x80, omit = 0xff;
}  // namespace pointer_encoding

/// A DWARF register number: any may come in, only those the program looks at have names.
enum class DwarfRegister : std::uint32_t {};

/// The columns of the unwind table that SFrame can speak of, and the column the CIE must return by.
struct TrackedRegisters {
  DwarfRegister stack_pointer{};
  DwarfRegister frame_pointer{};
  DwarfRegister return_address{};
  std::optional<DwarfRegister> signing_state = std::nullopt;
  /// Where the CFA is more than what a call leaves in SP: the CFA of a function's entry is SP + this. 0: of no use.
  std::int64_t entry_cfa_offset = 0;

  constexpr explicit TrackedRegisters(const DwarfRegisters& registers)
      : stack_pointer{registers.stack_pointer},
        frame_pointer{registers.frame_pointer},
        return_address{registers.return_address} {
    if (registers.signing_state) signing_state = DwarfRegister{*registers.signing_state};
  }
};

/// Whether rows say anything of this column, or depend on it.
constexpr bool follows(const TrackedRegisters& tracked, DwarfRegister number) {
  return number == tracked.frame_pointer || number == tracked.return_address || number == tracked.stack_pointer ||
         number == tracked.signing_state;
}

namespace amd64 {
inline constexpr TrackedRegisters tracked(amd64_registers);
inline constexpr DwarfRegister rbp = tracked.frame_pointer, rsp = tracked.stack_pointer,
                               return_address = tracked.return_address;
}  // namespace amd64

namespace aarch64 {
inline constexpr TrackedRegisters tracked(aarch64_registers);
}  // namespace aarch64

namespace s390x {
inline constexpr TrackedRegisters tracked = [] {
  TrackedRegisters registers(s390x_registers);
  registers.entry_cfa_offset = 160;  // the register save area (s390x Supplement, section 1.2.2)
  return registers;
}();
}  // namespace s390x

const TrackedRegisters& tracked_registers(sframe::Abi abi);

}  // namespace sframe_gen::cfi
