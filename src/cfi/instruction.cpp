#include "cfi/instruction.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "cfi/frame_index.hpp"
#include "support/bytes.hpp"
#include "support/text.hpp"

namespace sframe_gen::cfi {

namespace {

/// Reads operands in the units of the CIE.
class OperandReader {
 public:
  OperandReader(ByteReader& reader, const InstructionContext& context) : reader_(reader), context_(context) {}

  DwarfRegister dwarf_register() {
    const std::uint64_t at = reader_.offset();
    const std::uint64_t number = reader_.uleb128("register number");
    if (number > UINT32_MAX) reader_.fail(at, "register number " + hex(number) + " is beyond any architecture's");
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

enum class Operation : std::uint8_t {
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

/// One operation of an expression, spelling taken off: every constant is a PushConstant, every breg a PushRegister.
struct DecodedOperation {
  enum class Kind : std::uint8_t { PushConstant, PushRegister, AddConstant, Plain };
  Kind kind = Kind::Plain;
  Operation plain{};          ///< with Kind::Plain: Deref, Dup, Drop, Swap, And, Minus, Plus, Shl or Ge
  DwarfRegister base{};       ///< with Kind::PushRegister
  std::int64_t constant = 0;  ///< pushed, added, or the register's offset
  friend bool operator==(const DecodedOperation&, const DecodedOperation&) = default;
};

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

/// Without a value when an operation outside the set above appears. Throws MalformedInput for truncated operands.
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

/// A value on the stack: a constant, base + offset, or *(base + offset). The base is a register or the CFA.
struct StackEntry {
  bool has_base = false;
  Formula formula;
};

/// The stack machine over symbols; every step says whether the result is still a symbol.
class SymbolStack {
 public:
  void push(const StackEntry& symbol) { stack_.push_back(symbol); }

  bool apply(const DecodedOperation& operation) {
    switch (operation.kind) {
      case Kind::PushConstant:
        push({false, {std::nullopt, operation.constant, false}});
        return true;
      case Kind::PushRegister:
        push({true, {operation.base, operation.constant, false}});
        return true;
      case Kind::AddConstant:
        return add_to_top(operation.constant);
      case Kind::Plain:
        return apply_plain(operation.plain);
    }
    return false;
  }

  const StackEntry* top() const { return stack_.empty() ? nullptr : &stack_.back(); }

 private:
  bool apply_plain(Operation operation) {
    if (stack_.empty()) return false;
    switch (operation) {
      case Operation::Deref:
        return dereference();
      case Operation::Dup:
        push(StackEntry(stack_.back()));
        return true;
      case Operation::Drop:
        stack_.pop_back();
        return true;
      case Operation::Swap:
        if (stack_.size() < 2) return false;
        std::swap(stack_.back(), stack_[stack_.size() - 2]);
        return true;
      case Operation::Plus:
        return plus();
      case Operation::Minus:
        return minus();
      default:
        return false;
    }
  }

  bool dereference() {
    StackEntry& symbol = stack_.back();
    if (!symbol.has_base || symbol.formula.dereferenced) return false;
    symbol.formula.dereferenced = true;
    return true;
  }

  /// *(base + offset) + constant is no Formula, unless the constant is zero.
  bool add_to_top(std::int64_t constant) {
    if (stack_.empty()) return false;
    Formula& formula = stack_.back().formula;
    if (formula.dereferenced) return constant == 0;
    formula.offset = wrapping_sum(formula.offset, constant);
    return true;
  }

  bool plus() {
    if (stack_.size() < 2) return false;
    StackEntry right = stack_.back();
    stack_.pop_back();
    if (right.has_base) std::swap(right, stack_.back());
    return !right.has_base && add_to_top(right.formula.offset);
  }

  bool minus() {
    if (stack_.size() < 2) return false;
    const StackEntry right = stack_.back();
    stack_.pop_back();
    return !right.has_base && add_to_top(wrapping_difference(0, right.formula.offset));
  }

  std::vector<StackEntry> stack_;
};

std::variant<Formula, OtherExpression> run(SymbolStack stack, const std::vector<DecodedOperation>& operations) {
  for (const DecodedOperation& operation : operations) {
    if (!stack.apply(operation)) return OtherExpression{};
  }
  const StackEntry* top = stack.top();
  if (top == nullptr || !top->has_base) return OtherExpression{};
  return top->formula;
}

/// GNU ld describes the entries of a lazy PLT by one expression over the low bits of rip:
///   breg7 8; breg16 0; lit15; and; lit11 (with IBT: lit9); ge; lit3; shl; plus
/// Seen in every x86-64 file with a lazy PLT that GNU ld or gold made.
std::optional<PltStub> match_plt_stub(const std::vector<DecodedOperation>& operations) {
  const auto plain = [](Operation operation) { return DecodedOperation{Kind::Plain, operation, {}, 0}; };
  const auto literal = [](std::int64_t value) { return DecodedOperation{Kind::PushConstant, {}, {}, value}; };
  if (operations.size() != 9) return std::nullopt;
  const DecodedOperation& base = operations[0];
  const DecodedOperation& threshold = operations[4];
  if (base.kind != Kind::PushRegister || threshold.kind != Kind::PushConstant) return std::nullopt;
  if (threshold.constant <= 0 || threshold.constant >= plt_entry_size) return std::nullopt;
  const std::array<DecodedOperation, 9> expected{base,
                                                 {Kind::PushRegister, {}, amd64::return_address, 0},
                                                 literal(plt_entry_size - 1),
                                                 plain(Operation::And),
                                                 threshold,
                                                 plain(Operation::Ge),
                                                 literal(3),
                                                 plain(Operation::Shl),
                                                 plain(Operation::Plus)};
  if (!std::equal(expected.begin(), expected.end(), operations.begin())) return std::nullopt;
  return PltStub{base.base, base.constant, static_cast<std::uint8_t>(threshold.constant)};
}

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

std::variant<Formula, OtherExpression> evaluate_register_expression(const ExpressionBytes& expression) {
  const auto operations = decode_operations(expression);
  if (!operations) return OtherExpression{};
  SymbolStack stack;
  stack.push({true, Formula{}});  // DWARF 5, section 6.4.2.3: the CFA is pushed first
  return run(std::move(stack), *operations);
}

CfaRule evaluate_cfa_expression(const ExpressionBytes& expression) {
  const auto operations = decode_operations(expression);
  if (!operations) return OtherExpression{};
  if (const auto stub = match_plt_stub(*operations)) return *stub;
  const auto value = run({}, *operations);
  if (const auto* formula = std::get_if<Formula>(&value)) return *formula;
  return OtherExpression{};
}

}  // namespace sframe_gen::cfi
