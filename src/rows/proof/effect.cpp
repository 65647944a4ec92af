#include "rows/proof/effect.hpp"

#include <algorithm>
#include <utility>

#include "rows/proof/conditions.hpp"

namespace sframe_gen::rows::proof {

namespace {

constexpr std::uint32_t most_bounded = std::uint32_t{1} << 24U;

bool is_register(const Operand& operand) {
  return operand.kind == Operand::Kind::Register && operand.reg < register_count;
}

bool is_memory(const Operand& operand) {
  return operand.kind == Operand::Kind::Memory;
}

bool is_same_place(const Operand& a, const Operand& b) {
  return a.base == b.base && a.index == b.index && a.scale == b.scale && a.number == b.number &&
         a.other_segment == b.other_segment;
}

std::int64_t sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

/// value + number, if that is a place on the stack or a constant.
Value moved_by(const Value& value, std::int64_t number) {
  if (!is_on_stack(value) && !value.is(Value::Kind::Constant)) return unknown;
  Value moved = value;
  moved.number = sum(value.number, number);
  return moved;
}

/// The table that a load with a scaled index reads, if its address is a constant.
Value table_read_by(const State& state, const Operand& memory, Value::Kind kind) {
  const std::uint8_t entry_size = kind == Value::Kind::TableEntry ? 4 : 8;
  if (memory.index >= register_count || memory.scale != entry_size || memory.other_segment) return unknown;
  const Value base = memory.base == no_register     ? constant(0)
                     : memory.base < register_count ? state[memory.base]
                                                    : unknown;
  if (!base.is(Value::Kind::Constant)) return unknown;
  return {kind, no_register, 0, state[memory.index].count, sum(base.number, memory.number)};
}

/// The same of a load whose index has been scaled before.
Value word_read_by(const State& state, const Operand& memory) {
  if (memory.base >= register_count || memory.index >= register_count || memory.scale != 1 || memory.number != 0)
    return unknown;
  Value index = state[memory.base], table = state[memory.index];
  if (index.is(Value::Kind::Constant)) std::swap(index, table);
  if (!index.is(Value::Kind::ScaledIndex) || !table.is(Value::Kind::Constant)) return unknown;
  return {Value::Kind::TableWord, no_register, 0, index.count, table.number};
}

/// How many values a load may give, where a comparison of the same place has said so.
std::uint32_t bound_of(const State& state, const Operand& memory) {
  const BoundedMemory& bounded = state.bounded;
  const bool is_bounded =
      bounded.count != 0 && is_same_place(bounded.memory, memory) && memory.bits <= bounded.memory.bits;
  return is_bounded ? bounded.count : 0;
}

/// How many values so many bits may have, up to 2^32.
std::uint64_t values_of(unsigned bits) {
  return std::uint64_t{1} << std::min(bits, 32U);
}

std::uint32_t count_of(const Value& value) {
  return is_on_stack(value) ? 0 : value.count;
}

/// The same of a register, or of the low part that an instruction reads.
std::uint32_t bound_of_part(const State& state, const Operand& read) {
  const BoundedPart& part = state.part;
  if (part.count != 0 && part.reg == read.reg && part.bits == read.bits) return part.count;
  return count_of(state[read.reg]);
}

class Execution {
 public:
  Execution(const Instruction& instruction, std::uint64_t pc, State& state)
      : instruction_(instruction),
        first_(instruction.operands[0]),
        second_(instruction.operands[1]),
        pc_(pc),
        state_(state) {}

  Refusal apply() {
    if (instruction_.operation == Operation::OtherWorld) return Refusal::OtherStack;
    const Refusal refusal = change();
    if (refusal != Refusal::None) return refusal;
    const bool is_known = is_on_stack(state_[rsp]) || state_[rsp].is(Value::Kind::Probing);
    if (!is_known && !state_[rbp].is(Value::Kind::Cfa)) return Refusal::StackPointerLost;
    if (instruction_.writes_flags && instruction_.operation != Operation::Compare) state_.comparison = {};
    return Refusal::None;
  }

 private:
  Refusal change() {
    switch (instruction_.operation) {
      case Operation::Move:
        return move();
      case Operation::MoveZeroExtended:
      case Operation::MoveSignExtended:
        return extend();
      case Operation::LoadAddress:
        return is_wide() ? set(taken_address()) : others();
      case Operation::ExtendAccumulator:
        return extend_accumulator();
      case Operation::Add:
        return add(1);
      case Operation::Subtract:
        return add(-1);
      case Operation::And:
        return mask();
      case Operation::Xor:
        return is_register(first_) && is_register(second_) && first_.reg == second_.reg && first_.bits >= 32
                   ? set(constant(0))
                   : others();
      case Operation::Compare:
        compare();
        return Refusal::None;
      case Operation::Push:
        return push(pushed());
      case Operation::PushFlags:
        return push(unknown);
      case Operation::Pop:
        return pop();
      case Operation::PopFlags:
        return move_stack_pointer(moved_by(state_[rsp], 8));
      case Operation::Leave:
        return leave();
      case Operation::Nothing:
        return Refusal::None;
      default:
        return others();
    }
  }

  /// GCC without optimization scales an index by itself.
  Value taken_address() const {
    const bool is_scaled = second_.base == no_register && second_.index < register_count && second_.scale == 4 &&
                           second_.number == 0 && !is_on_stack(state_[second_.index]);
    if (is_scaled && !state_[second_.index].is(Value::Kind::Constant))
      return {Value::Kind::ScaledIndex, no_register, 0, state_[second_.index].count, 0};
    return address_of(state_, second_);
  }

  Refusal extend_accumulator() {
    Value value = state_[rax];
    if (!value.is(Value::Kind::TableWord)) return others();
    value.kind = Value::Kind::TableEntry;
    state_.set(rax, value);
    return Refusal::None;
  }

  bool is_wide() const { return is_register(first_) && first_.bits == 64; }

  /// Everything that the instruction writes becomes new.
  Refusal others() {
    if ((instruction_.written >> rsp & 1U) != 0) return Refusal::OtherStack;
    for (RegisterNumber reg = 0; reg < register_count; ++reg)
      if ((instruction_.written >> reg & 1U) != 0) state_.define(reg, pc_);
    if (!instruction_.stores) return Refusal::None;
    const Operand& memory = is_memory(first_) ? first_ : second_;
    if (is_memory(memory)) {
      store(memory, unknown);
    } else {
      state_.forget_bounds();
    }
    return Refusal::None;
  }

  void store(const Operand& memory, const Value& value) {
    state_.store(address_of(state_, memory), memory.bits, value, conditions::overwrites_for_sure(memory));
  }

  /// The first operand, a register of 64 bits (or of 32, for a constant), gets this value; something new if Unknown.
  Refusal set(const Value& value, std::uint32_t count = 0) {
    if (first_.reg == rsp) return move_stack_pointer(value);
    if (value.is(Value::Kind::Unknown)) {
      state_.define(first_.reg, pc_, count);
    } else {
      state_.set(first_.reg, value);
    }
    return Refusal::None;
  }

  /// What a frame has left below SP, another one does not find there: its memory is new.
  void lower_stack_pointer(const Value& value) {
    const Value before = state_[rsp];
    if (value.kind == before.kind && value.count == before.count && value.number < before.number)
      state_.forget_saved_below_stack_pointer();
    state_.set(rsp, value);
  }

  Refusal move_stack_pointer(const Value& value) {
    if (conditions::switches_stacks(instruction_, value)) return Refusal::OtherStack;
    if (is_on_stack(value)) {
      const bool counts_from_itself = instruction_.operation == Operation::LoadAddress && second_.base == rsp;
      if (instruction_.operation == Operation::Move ||
          (instruction_.operation == Operation::LoadAddress && !counts_from_itself))
        state_.trusts_callee = false;
      lower_stack_pointer(value);
      return Refusal::None;
    }
    state_.drop_below_stack_pointer();
    state_.set(rsp, unknown);
    return Refusal::None;
  }

  Refusal move() {
    if (is_memory(first_)) {
      if (is_register(second_) && second_.bits == 64) {
        store(first_, state_[second_.reg]);
        return Refusal::None;
      }
      store(first_, unknown);
      return Refusal::None;
    }
    if (!is_register(first_) || first_.bits < 32) return others();
    if (second_.kind == Operand::Kind::Immediate)
      return set(constant(first_.bits == 32 ? static_cast<std::uint32_t>(second_.number) : second_.number));
    if (is_memory(second_)) return load();
    if (!is_register(second_)) return others();
    const Value value = state_[second_.reg];
    if (first_.bits == 64) return set(value, value.count);
    if (value.is(Value::Kind::Constant)) return set(constant(static_cast<std::uint32_t>(value.number)));
    return set(unknown, count_of(value));
  }

  Refusal load() {
    const std::uint32_t bound = bound_of(state_, second_);
    if (first_.bits == 32) {
      const Value word = word_read_by(state_, second_);
      return word.is(Value::Kind::Unknown) ? set(unknown, bound) : set(word);
    }
    const Value table = table_read_by(state_, second_, Value::Kind::TableAddress);
    if (!table.is(Value::Kind::Unknown)) return set(table);
    return set(read(second_, first_.reg), bound);
  }

  Refusal extend() {
    if (!is_register(first_) || first_.bits < 32) return others();
    const bool by_sign = instruction_.operation == Operation::MoveSignExtended;
    if (is_memory(second_) && by_sign && second_.bits == 32 && first_.bits == 64) {
      const Value table = table_read_by(state_, second_, Value::Kind::TableEntry);
      if (!table.is(Value::Kind::Unknown)) return set(table);
    }
    const std::uint32_t count = is_memory(second_)     ? bound_of(state_, second_)
                                : is_register(second_) ? bound_of_part(state_, second_)
                                                       : 0;
    if (first_.reg == rsp) return Refusal::OtherStack;
    const bool is_wider = count > values_of(by_sign ? second_.bits - 1U : second_.bits);
    const std::uint8_t low_bits = by_sign ? 0 : static_cast<std::uint8_t>(second_.bits);
    state_.define(first_.reg, pc_, is_wider ? 0 : count, low_bits);
    return Refusal::None;
  }

  Refusal add(int sign) {
    if (!is_wide()) return others();
    const Value left = state_[first_.reg];
    if (left.is(Value::Kind::Probing) && first_.reg == rsp) return Refusal::None;
    if (second_.kind == Operand::Kind::Immediate) return set(moved_by(left, sign * second_.number));
    if (!is_register(second_)) return first_.reg == rsp ? set(unknown) : others();
    const Value right = state_[second_.reg];
    if (right.is(Value::Kind::Constant) && (is_on_stack(left) || left.is(Value::Kind::Constant)))
      return set(moved_by(left, sign * right.number));
    if (sign > 0 && left.is(Value::Kind::Constant) && is_on_stack(right)) return set(moved_by(right, left.number));
    if (sign > 0 && is_entry_and_table(left, right)) return set(target(left));
    if (sign > 0 && is_entry_and_table(right, left)) return set(target(right));
    return set(unknown);
  }

  static bool is_entry_and_table(const Value& entry, const Value& table) {
    return entry.is(Value::Kind::TableEntry) && table.is(Value::Kind::Constant) && table.number == entry.number;
  }
  static Value target(Value entry) {
    entry.kind = Value::Kind::TableTarget;
    return entry;
  }

  Refusal mask() {
    const bool is_number = second_.kind == Operand::Kind::Immediate;
    if (is_wide() && is_number && second_.number < 0 && is_on_stack(state_[first_.reg])) {
      const Value value = state_[first_.reg];
      const auto base = static_cast<std::uint32_t>(pc_);
      if (first_.reg == rsp) state_.drop_aligned_slots();
      state_.rounding = value.is(Value::Kind::Cfa) ? Rounding{base, value.number, -second_.number - 1} : Rounding{};
      return set({Value::Kind::Aligned, no_register, 0, base, 0});
    }
    if (first_.reg == rsp && is_register(first_)) return set(unknown);
    const bool has_bound = is_number && second_.number >= 0 && second_.number < most_bounded;
    if (!is_register(first_) || first_.bits < 32 || !has_bound) return others();
    return set(unknown, static_cast<std::uint32_t>(second_.number) + 1);
  }

  void compare() {
    state_.comparison = {};
    if (is_register(first_) && is_register(second_) && first_.bits == 64 && (first_.reg == rsp || second_.reg == rsp)) {
      state_.comparison.kind = LastComparison::Kind::StackPointer;
      state_.comparison.reg = first_.reg == rsp ? second_.reg : first_.reg;
      return;
    }
    if (second_.kind != Operand::Kind::Immediate) return;
    state_.comparison.number = static_cast<std::uint64_t>(second_.number);
    if (is_register(first_)) {
      state_.comparison.kind = LastComparison::Kind::Register;
      state_.comparison.reg = first_.reg;
      state_.comparison.bits = first_.bits;
    } else if (is_memory(first_)) {
      state_.comparison.kind = LastComparison::Kind::Memory;
      state_.comparison.memory = first_;
    }
  }

  /// What memory holds, as a register gets it.
  Value read(const Operand& memory, RegisterNumber into) const {
    if (memory.other_segment) return unknown;
    const Value value = state_.load(address_of(state_, memory), 64);
    return conditions::may_be_variable(value, into) ? unknown : value;
  }

  Value pushed() const {
    if (is_register(first_)) return state_[first_.reg];
    if (first_.kind == Operand::Kind::Immediate) return constant(first_.number);
    return read(first_, no_register);
  }

  Refusal push(const Value& value) {
    if (first_.kind != Operand::Kind::None && first_.bits == 16) return Refusal::OtherStack;
    if (!is_on_stack(state_[rsp])) {
      state_.forget_bounds();
      return Refusal::None;
    }
    lower_stack_pointer(moved_by(state_[rsp], -8));
    state_.store(state_[rsp], 64, value);
    return Refusal::None;
  }

  Refusal pop() {
    if (first_.bits == 16) return Refusal::OtherStack;
    const Value top = state_.load(state_[rsp], 64);
    if (is_on_stack(state_[rsp])) state_.set(rsp, moved_by(state_[rsp], 8));
    if (is_memory(first_)) {
      store(first_, top);
      return Refusal::None;
    }
    return is_register(first_) ? set(top) : Refusal::None;
  }

  Refusal leave() {
    const Value frame = state_[rbp];
    if (!is_on_stack(frame)) return Refusal::StackPointerLost;
    state_.trusts_callee = false;
    state_.set(rsp, moved_by(frame, 8));
    const Value saved = state_.load(frame, 64);
    if (saved.is(Value::Kind::Unknown)) {
      state_.define(rbp, pc_);
    } else {
      state_.set(rbp, saved);
    }
    return Refusal::None;
  }

  const Instruction& instruction_;
  const Operand &first_, &second_;
  std::uint64_t pc_;
  State& state_;
};

}  // namespace

Value address_of(const State& state, const Operand& memory) {
  if (memory.other_segment) return unknown;
  const auto value_of = [&](RegisterNumber reg) {
    return reg == no_register ? constant(0) : reg < register_count ? state[reg] : unknown;
  };
  const Value base = value_of(memory.base), index = value_of(memory.index);
  if (!index.is(Value::Kind::Constant)) return unknown;
  const std::int64_t scaled = memory.index == no_register ? 0 : sum(0, index.number * memory.scale);
  return moved_by(base, sum(memory.number, scaled));
}

Refusal apply(const Instruction& instruction, std::uint64_t pc, State& state) {
  return Execution(instruction, pc, state).apply();
}

void apply_call(const CalleeEffect& callee, std::uint64_t pc, State& state) {
  for (RegisterNumber reg = 0; reg < register_count; ++reg)
    if (!conditions::is_kept_over_calls(reg)) state.set(reg, unknown);
  if (!callee.keeps_frame_pointer) state.define(rbp, pc);
  if (!callee.is_known) state.trusts_callee = true;
  state.drop_below_stack_pointer();
  state.comparison = {};
  state.bounded = {};
}

void apply_condition(Condition condition, bool is_taken, State& state) {
  const LastComparison& comparison = state.comparison;
  if (comparison.kind == LastComparison::Kind::None) return;
  if (comparison.kind == LastComparison::Kind::StackPointer) {
    // The loop of -fstack-clash-protection moves SP until it is what the register says.
    const Value& limit = state[comparison.reg];
    if (condition == Condition::NotEqual && !is_taken && is_on_stack(limit)) state.set(rsp, Value(limit));
    return;
  }
  std::uint64_t count = 0;
  if ((condition == Condition::Above && !is_taken) || (condition == Condition::BelowOrEqual && is_taken))
    count = comparison.number + 1;
  if ((condition == Condition::AboveOrEqual && !is_taken) || (condition == Condition::Below && is_taken))
    count = comparison.number;
  if (count == 0 || count > most_bounded) return;
  if (comparison.kind == LastComparison::Kind::Memory) {
    state.bounded = {comparison.memory, static_cast<std::uint32_t>(count)};
    return;
  }
  const std::uint64_t all = values_of(comparison.bits);
  const Value& whole = state[comparison.reg];
  const bool is_part_only = comparison.bits < 32 && !(whole.count != 0 && whole.count <= all) &&
                            !(whole.low_bits != 0 && whole.low_bits <= comparison.bits);
  if (is_part_only) {
    state.part = {comparison.reg, comparison.bits, static_cast<std::uint32_t>(count)};
    return;
  }
  const Value value = state[comparison.reg];
  if (is_on_stack(value) || value.is(Value::Kind::Constant)) return;
  const auto kept = state.comparison;
  Value bounded = value;
  bounded.count = static_cast<std::uint32_t>(count);
  const bool has_name = value.is(Value::Kind::Defined) || value.is(Value::Kind::Entry);
  for (RegisterNumber reg = 0; reg < register_count; ++reg)
    if (reg == kept.reg || (has_name && state[reg] == value)) state.set(reg, bounded);
  state.comparison = kept;
}

Value target_of(const Operand& operand, const State& state) {
  if (is_register(operand)) return state[operand.reg];
  if (!is_memory(operand)) return unknown;
  return table_read_by(state, operand, Value::Kind::TableAddress);
}

}  // namespace sframe_gen::rows::proof
