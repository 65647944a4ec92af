#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cfi/dwarf_constants.hpp"
#include "cfi/expression.hpp"

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

}  // namespace sframe_gen::cfi
