#pragma once

#include <cstdint>

#include "rows/proof/instruction.hpp"

namespace sframe_gen::rows::proof {

/// What is known of 64 bits in a register or a slot of the stack.
struct Value {
  enum class Kind : std::uint8_t {
    Unknown,        ///< anything: paths have met with different values, or nothing was ever known
    Defined,        ///< what the instruction at `number` made: something new
    Entry,          ///< what register `reg` held at the function's entry
    ReturnAddress,  ///< of this function's caller
    Cfa,            ///< CFA + number
    Aligned,        ///< CFA + something, rounded down by the instruction in `count`, + number
    Probing,      ///< of SP: below the frame, in the loop of -fstack-clash-protection, which ends where a register says
    Constant,     ///< number
    ScaledIndex,  ///< 4 times something that may have `count` values
    TableWord,    ///< the 4 bytes of TableEntry before they are sign-extended
    TableEntry,   ///< what the jump table at `number` holds, of `count` entries; 4 bytes, sign-extended
    TableTarget,  ///< the same + the table's address: a place in code
    TableAddress,  ///< what the table of 8-byte addresses at `number` holds
  };
  Kind kind = Kind::Unknown;
  RegisterNumber reg = no_register;  ///< of Kind::Entry
  std::uint8_t low_bits = 0;         ///< of Kind::Defined: all others are zero; 0: not known
  /// Of Kind::Unknown, Defined, Entry and of tables: how many different values it may have, from 0 on; 0: not known.
  /// Of Kind::Aligned, which instruction has rounded: the low half of its address.
  std::uint32_t count = 0;
  std::int64_t number = 0;  ///< bytes, an address, or a constant, as the kind has it

  constexpr bool is(Kind other) const { return kind == other; }
  friend constexpr bool operator==(const Value&, const Value&) = default;
};

constexpr Value cfa_plus(std::int64_t offset) {
  return {Value::Kind::Cfa, no_register, 0, 0, offset};
}
constexpr Value entry_of(RegisterNumber reg) {
  return {Value::Kind::Entry, reg, 0, 0, 0};
}
constexpr Value constant(std::int64_t number) {
  return {Value::Kind::Constant, no_register, 0, 0, number};
}
constexpr Value defined_at(std::uint64_t pc, std::uint32_t count = 0, std::uint8_t low_bits = 0) {
  return {Value::Kind::Defined, no_register, low_bits, count, static_cast<std::int64_t>(pc)};
}
inline constexpr Value unknown{};
inline constexpr Value probing{Value::Kind::Probing, no_register, 0, 0, 0};
inline constexpr Value return_address{Value::Kind::ReturnAddress, no_register, 0, 0, 0};

/// Whether the value is a place on this function's stack.
constexpr bool is_on_stack(const Value& value) {
  return value.is(Value::Kind::Cfa) || value.is(Value::Kind::Aligned);
}

constexpr bool is_callers_frame_pointer(const Value& value) {
  return value.is(Value::Kind::Entry) && value.reg == rbp;
}

/// What holds if either of two values does.
constexpr Value joined(const Value& a, const Value& b) {
  if (a == b) return a;
  if (is_on_stack(a)) return unknown;
  Value wider = a;
  wider.count = b.count;
  if (wider == b) {  // the same value, of which one path knows less
    wider.count = a.count == 0 || b.count == 0 ? 0 : a.count > b.count ? a.count : b.count;
    return wider;
  }
  return unknown;
}

}  // namespace sframe_gen::rows::proof
