#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cfi/dwarf.hpp"
#include "cfi/expression.hpp"
#include "support/bytes.hpp"

namespace sframe_gen::cfi {

/// One operation of an expression, spelling taken off: every constant is a PushConstant, every breg a PushRegister.
struct DecodedOperation {
  enum class Kind : std::uint8_t { PushConstant, PushRegister, AddConstant, Plain };
  Kind kind = Kind::Plain;
  Operation plain{};          ///< with Kind::Plain: Deref, Dup, Drop, Swap, And, Minus, Plus, Shl or Ge
  DwarfRegister base{};       ///< with Kind::PushRegister
  std::int64_t constant = 0;  ///< pushed, added, or the register's offset
  friend bool operator==(const DecodedOperation&, const DecodedOperation&) = default;
};

/// Without a value when an operation outside the set above appears. Throws MalformedInput for truncated operands.
std::optional<std::vector<DecodedOperation>> decode_operations(const ExpressionBytes& expression);

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
