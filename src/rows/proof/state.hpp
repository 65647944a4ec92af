#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

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

/// Eight bytes on the stack that hold something the proof asks for later.
struct Slot {
  std::uint32_t base =
      0;  ///< what `offset` counts from: 0: the CFA; else what the instruction in Value::count has aligned
  std::int64_t offset = 0;  ///< bytes
  Value value;
  friend bool operator==(const Slot&, const Slot&) = default;
};

/// What the last comparison has compared with a constant.
struct LastComparison {
  enum class Kind : std::uint8_t { None, Register, Memory, StackPointer };
  Kind kind = Kind::None;
  RegisterNumber reg = no_register;  ///< of Kind::Register and StackPointer: with SP
  std::uint16_t bits = 0;            ///< of Kind::Register: the low ones
  Operand memory{};                  ///< of Kind::Memory
  std::uint64_t number = 0;          ///< the constant
};

/// A memory operand whose value is bounded until something is stored.
struct BoundedMemory {
  Operand memory{};
  std::uint32_t count = 0;  ///< 0: none
};

/// A part of a register that is bounded, until it is written: 8 or 16 low bits.
struct BoundedPart {
  RegisterNumber reg = no_register;
  std::uint16_t bits = 0;
  std::uint32_t count = 0;  ///< 0: none
  friend bool operator==(const BoundedPart&, const BoundedPart&) = default;
};

/// How far below a known place an aligned one may be.
struct Rounding {
  std::uint32_t base = 0;  ///< as Slot has it; 0: none is known
  std::int64_t from = 0;   ///< bytes from the CFA: what was rounded down
  std::int64_t slack = 0;  ///< bytes: by how much at most
  friend bool operator==(const Rounding&, const Rounding&) = default;
};

/// What holds before an instruction, whatever path leads to it.
class State {
 public:
  /// At a function's entry: SP is CFA - 8, and the return address is there (AMD64 psABI, section 3.2.2).
  static State at_entry();

  const Value& operator[](RegisterNumber reg) const { return registers_[reg]; }
  void set(RegisterNumber reg, const Value& value);
  /// Sets what an instruction at `pc` made, in place of what it made before.
  void define(RegisterNumber reg, std::uint64_t pc, std::uint32_t count = 0, std::uint8_t low_bits = 0);

  /// What the slot holds; Unknown without one.
  Value load(const Value& address, unsigned bits) const;
  /// Stores at a place on the stack. Everything that overlaps is gone. `is_sure`: not through a pointer that may be
  /// something else on paths which cannot be told from this one.
  void store(const Value& address, unsigned bits, const Value& value, bool is_sure = true);
  /// Forgets what is known of memory from comparisons.
  void forget_bounds();
  /// Forgets what a call may overwrite: below SP.
  void drop_below_stack_pointer();
  /// The same where a frame goes on to grow there: but for the return address, which its own call has put there.
  void forget_saved_below_stack_pointer();
  /// Forgets slots that count from an aligned SP.
  void drop_aligned_slots();

  /// Takes in another path. Conflict: SP is not the same, and no frame pointer stands for it. `may_probe`: the path is
  /// the jump back in a loop of probes.
  enum class Join : std::uint8_t { Same, Changed, Conflict };
  Join join(const State& other, bool may_probe);

  const std::vector<Slot>& slots() const { return slots_; }

  LastComparison comparison;
  BoundedMemory bounded;
  BoundedPart part;
  Rounding rounding;  ///< the last one
  /// Only jumps that may never be taken lead here (conditions::may_never_be_taken).
  bool is_doubtful = false;
  /// SP is known only if a callee, whose code is not known, has kept it.
  bool trusts_callee = false;
  /// The last call on the way here, if no path without a call leads here; else 0. It may be one that does not return.
  /// The same of an instruction that goes on to where another function may begin, and of an entry of a jump table:
  /// Paths::table_entry_to().
  std::uint64_t after_call = 0;
  /// Each path here has passed such a call while SP was as at the entry: what follows may be a whole function, which
  /// would do the same with the stack.
  bool may_be_another = false;

 private:
  bool may_hit(const Slot& slot, std::uint32_t base, std::int64_t begin, std::int64_t size) const;
  void bound_ends_with(RegisterNumber reg);
  void bounds_end_with_store(bool is_on_own_stack);

  static constexpr std::size_t most_slots = 48;
  std::array<Value, register_count> registers_{};
  std::vector<Slot> slots_;  ///< by place; none overlap
};

/// What a called function changes for its caller.
struct CalleeEffect {
  bool returns = true;
  bool balances = true;  ///< SP is as before the call
  bool keeps_frame_pointer = true;
  bool is_known = true;  ///< its own code does this: assumed until it is refused
  friend bool operator==(const CalleeEffect&, const CalleeEffect&) = default;
};

}  // namespace sframe_gen::rows::proof
