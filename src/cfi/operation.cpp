#include "cfi/operation.hpp"

#include "support/byte_reader.hpp"

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

}  // namespace sframe_gen::cfi
