#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "rows/proof/value.hpp"

namespace sframe_gen::rows::proof {

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
