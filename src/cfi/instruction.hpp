#pragma once

#include <cstdint>
#include <span>
#include <variant>

#include "cfi/rules.hpp"
#include "sframe_gen/error.hpp"
#include "support/bytes.hpp"
#include "support/endian.hpp"

/// Call frame instructions and their expressions (DWARF 5, sections 6.4.2 and 2.5). Their numbers are not taken from
/// <dwarf.h>: its 2021 edition lacks some, and only one file may see libdwarf.
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

/// A DWARF expression of a call frame instruction.
struct ExpressionBytes {
  std::span<const std::byte> bytes;
  std::uint64_t section_offset;
  Endian endian;
  const InputOrigin& origin;
};

/// What the expression leaves on top of the stack, told by meaning and not by spelling: any mix of breg/bregx,
/// constants, plus, minus, plus_uconst and a last deref is a Formula. Throws MalformedInput for operands that do not
/// fit; operations outside that set give OtherExpression.
std::variant<Formula, OtherExpression> evaluate_register_expression(const ExpressionBytes& expression);

/// As above for DW_CFA_def_cfa_expression: the CFA itself is not on the stack, and GNU ld's PLT expression counts.
CfaRule evaluate_cfa_expression(const ExpressionBytes& expression);

/// One decoded call frame instruction (DWARF 5, section 6.4.2). Which operands are set depends on the opcode.
struct Instruction {
  CfaOpcode opcode{};
  DwarfRegister target{};            ///< the register the rule is for, or the CFA's
  DwarfRegister source{};            ///< DW_CFA_register
  std::int64_t offset = 0;           ///< already factored where the opcode factors
  std::uint64_t advance = 0;         ///< bytes, already factored
  std::uint64_t location = 0;        ///< DW_CFA_set_loc: virtual address
  std::span<const std::byte> block;  ///< expressions
  std::uint64_t block_offset = 0;    ///< in the section
  bool known = true;                 ///< false: the opcode has no meaning here, and what follows cannot be read
};

/// What decoding needs from the CIE and the section.
struct InstructionContext {
  std::uint64_t code_alignment = 1;
  std::int64_t data_alignment = 1;
  std::uint8_t pointer_encoding = 0;
  std::uint64_t section_address = 0;
  bool signs_return_addresses = false;  ///< the machine is aarch64: opcodes 0x2c and 0x2d have a meaning
};

/// Decodes the instruction at the reader and moves past it. Throws MalformedInput for operands that do not fit.
Instruction read_instruction(ByteReader& reader, const InstructionContext& context);

}  // namespace sframe_gen::cfi
