#include "cfi/instruction.hpp"

#include "cfi/frame_index.hpp"
#include "support/bytes.hpp"
#include "support/text.hpp"

namespace sframe_gen::cfi {

namespace {

using Kind = DecodedOperation::Kind;

DecodedOperation constant(std::int64_t value) {
  return {Kind::PushConstant, {}, {}, value};
}
DecodedOperation constant(std::uint64_t value) {
  return constant(static_cast<std::int64_t>(value));
}

/// The operation at the reader, or nothing when it is outside the set.
std::optional<DecodedOperation> read_operation(ByteReader& reader) {
  const std::uint8_t byte = reader.u8("operation");
  const auto operation = static_cast<Operation>(byte);
  if (operation >= Operation::Lit0 && operation <= Operation::Lit31) return constant(std::int64_t{byte - 0x30});
  if (operation >= Operation::Breg0 && operation <= Operation::Breg31) {
    return DecodedOperation{
        Kind::PushRegister, {}, DwarfRegister{byte - 0x70U}, reader.sleb128("offset of DW_OP_breg")};
  }
  switch (operation) {
    case Operation::Const1u:
      return constant(std::int64_t{reader.u8("constant")});
    case Operation::Const1s:
      return constant(std::int64_t{reader.i8("constant")});
    case Operation::Const2u:
      return constant(std::int64_t{reader.u16("constant")});
    case Operation::Const2s:
      return constant(std::int64_t{reader.i16("constant")});
    case Operation::Const4u:
      return constant(std::int64_t{reader.u32("constant")});
    case Operation::Const4s:
      return constant(std::int64_t{reader.i32("constant")});
    case Operation::Const8u:
      return constant(reader.u64("constant"));
    case Operation::Const8s:
      return constant(reader.i64("constant"));
    case Operation::Constu:
      return constant(reader.uleb128("constant"));
    case Operation::Consts:
      return constant(reader.sleb128("constant"));
    case Operation::PlusUconst:
      return DecodedOperation{Kind::AddConstant, {}, {}, static_cast<std::int64_t>(reader.uleb128("constant"))};
    case Operation::Bregx: {
      const std::uint64_t number = reader.uleb128("register number");
      if (number > UINT32_MAX) return std::nullopt;
      return DecodedOperation{Kind::PushRegister,
                              {},
                              DwarfRegister{static_cast<std::uint32_t>(number)},
                              reader.sleb128("offset of DW_OP_bregx")};
    }
    case Operation::DerefSize:
      if (reader.u8("size of DW_OP_deref_size") != 8) return std::nullopt;
      return DecodedOperation{Kind::Plain, Operation::Deref, {}, 0};
    case Operation::Deref:
    case Operation::Dup:
    case Operation::Drop:
    case Operation::Swap:
    case Operation::And:
    case Operation::Minus:
    case Operation::Plus:
    case Operation::Shl:
    case Operation::Ge:
      return DecodedOperation{Kind::Plain, operation, {}, 0};
    default:
      return std::nullopt;  // the enum is open: any byte may come in
  }
}

}  // namespace

std::optional<std::vector<DecodedOperation>> decode_operations(const ExpressionBytes& expression) {
  // No sum that folds to one offset is as long; memory for as many operations as a file has bytes is not worth it.
  constexpr std::size_t most_operations = 1000;
  ByteReader reader(expression.bytes, expression.endian, expression.origin, expression.section_offset);
  std::vector<DecodedOperation> operations;
  while (!reader.at_end()) {
    const auto next = expression.bytes[reader.offset() - expression.section_offset];
    if (next == static_cast<std::byte>(Operation::Nop)) {
      reader.u8("DW_OP_nop");
      continue;
    }
    const auto operation = read_operation(reader);
    if (!operation || operations.size() == most_operations) return std::nullopt;
    operations.push_back(*operation);
  }
  return operations;
}

namespace {

/// Reads operands in the units of the CIE.
class OperandReader {
 public:
  OperandReader(ByteReader& reader, const InstructionContext& context) : reader_(reader), context_(context) {}

  DwarfRegister dwarf_register() {
    const std::uint64_t at = reader_.offset();
    const std::uint64_t number = reader_.uleb128("register number");
    if (number > UINT32_MAX) reader_.fail(at, "register number " + hex(number) + " is beyond any machine's");
    return DwarfRegister{static_cast<std::uint32_t>(number)};
  }

  // Addresses count modulo 2^64, and so do offsets: LLVM writes `.cfi_def_cfa_offset -8` as an unsigned 2^64 - 8.
  std::int64_t plain_offset() { return static_cast<std::int64_t>(reader_.uleb128("offset")); }
  std::int64_t factored_offset() { return factored(reader_.uleb128("offset")); }
  std::int64_t factored_signed_offset() { return factored(static_cast<std::uint64_t>(reader_.sleb128("offset"))); }
  std::int64_t factored_negative_offset() { return factored(0 - reader_.uleb128("offset")); }

  std::uint64_t advance(std::uint64_t delta) {
    std::uint64_t bytes = 0;
    if (__builtin_mul_overflow(delta, context_.code_alignment, &bytes))
      reader_.fail("location advance does not fit in 64 bits");
    return bytes;
  }

  void block(Instruction& instruction) {
    const std::uint64_t size = reader_.uleb128("size of an expression");
    instruction.block_offset = reader_.offset();
    instruction.block = reader_.take(size, "expression");
  }

  std::uint64_t location() {
    return read_pointer(reader_, context_.pointer_encoding, context_.section_address, "operand of DW_CFA_set_loc");
  }

 private:
  std::int64_t factored(std::uint64_t value) const {
    return static_cast<std::int64_t>(value * static_cast<std::uint64_t>(context_.data_alignment));
  }

  ByteReader& reader_;
  const InstructionContext& context_;
};

}  // namespace

Instruction read_instruction(ByteReader& reader, const InstructionContext& context) {
  const std::uint8_t byte = reader.u8("call frame instruction");
  const std::uint8_t low_bits = byte & 0x3fU;
  Instruction instruction;
  // The three commonest opcodes keep an operand in their low six bits.
  instruction.opcode = static_cast<CfaOpcode>((byte & 0xc0U) != 0 ? byte & 0xc0U : byte);
  OperandReader operands(reader, context);

  switch (instruction.opcode) {
    case CfaOpcode::AdvanceLoc:
      instruction.advance = operands.advance(low_bits);
      break;
    case CfaOpcode::Offset:
      instruction.target = DwarfRegister{low_bits};
      instruction.offset = operands.factored_offset();
      break;
    case CfaOpcode::Restore:
      instruction.target = DwarfRegister{low_bits};
      break;
    case CfaOpcode::Nop:
    case CfaOpcode::RememberState:
    case CfaOpcode::RestoreState:
      break;
    case CfaOpcode::SetLoc:
      instruction.location = operands.location();
      break;
    case CfaOpcode::AdvanceLoc1:
      instruction.advance = operands.advance(reader.u8("location advance"));
      break;
    case CfaOpcode::AdvanceLoc2:
      instruction.advance = operands.advance(reader.u16("location advance"));
      break;
    case CfaOpcode::AdvanceLoc4:
      instruction.advance = operands.advance(reader.u32("location advance"));
      break;
    case CfaOpcode::MipsAdvanceLoc8:
      instruction.advance = operands.advance(reader.u64("location advance"));
      break;
    case CfaOpcode::OffsetExtended:
    case CfaOpcode::ValOffset:
      instruction.target = operands.dwarf_register();
      instruction.offset = operands.factored_offset();
      break;
    case CfaOpcode::OffsetExtendedSf:
    case CfaOpcode::ValOffsetSf:
    case CfaOpcode::DefCfaSf:
      instruction.target = operands.dwarf_register();
      instruction.offset = operands.factored_signed_offset();
      break;
    case CfaOpcode::GnuNegativeOffsetExtended:
      instruction.target = operands.dwarf_register();
      instruction.offset = operands.factored_negative_offset();
      break;
    case CfaOpcode::RestoreExtended:
    case CfaOpcode::Undefined:
    case CfaOpcode::SameValue:
    case CfaOpcode::DefCfaRegister:
      instruction.target = operands.dwarf_register();
      break;
    case CfaOpcode::Register:
      instruction.target = operands.dwarf_register();
      instruction.source = operands.dwarf_register();
      break;
    case CfaOpcode::DefCfa:
      instruction.target = operands.dwarf_register();
      instruction.offset = operands.plain_offset();
      break;
    case CfaOpcode::DefCfaOffset:
      instruction.offset = operands.plain_offset();
      break;
    case CfaOpcode::DefCfaOffsetSf:
      instruction.offset = operands.factored_signed_offset();
      break;
    case CfaOpcode::DefCfaExpression:
      operands.block(instruction);
      break;
    case CfaOpcode::Expression:
    case CfaOpcode::ValExpression:
      instruction.target = operands.dwarf_register();
      operands.block(instruction);
      break;
    case CfaOpcode::GnuArgsSize:
      operands.plain_offset();
      break;
    case CfaOpcode::AArch64NegateRaState:
    case CfaOpcode::AArch64NegateRaStateWithPc:
      instruction.known = context.signs_return_addresses;
      break;
    default:
      instruction.known = false;
      break;  // the enum is open: any byte may come in
  }
  return instruction;
}

}  // namespace sframe_gen::cfi
