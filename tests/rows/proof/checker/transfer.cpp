#include "rows/proof/checker/transfer.hpp"

#include <algorithm>

namespace sframe_gen::checker {

namespace {

Value moved(Value value, std::int64_t distance) {
  if (value.is(Value::Kind::Stack)) {
    value.place.offset += distance;
  } else if (value.is(Value::Kind::Constant)) {
    value.number =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(value.number) + static_cast<std::uint64_t>(distance));
  } else {
    return {};
  }
  return value;
}

/// How far the places' bases are apart: the second's base counts from the first's.
std::optional<Bounds> distance(std::uint32_t from, std::uint32_t to, const FindBounds& find_bounds) {
  if (from == to) return Bounds{0, 0};
  const auto of = [&](std::uint32_t base) { return base == 0 ? Bounds{0, 0} : find_bounds(base); };
  const auto first = of(from), second = of(to);
  if (!first || !second) return std::nullopt;
  return Bounds{second->least - first->most, second->most - first->least};
}

bool may_overlap(const Place& stored, std::int64_t size, const Place& slot, const FindBounds& find_bounds) {
  const auto apart = distance(stored.base, slot.base, find_bounds);
  if (!apart) return true;
  return slot.offset + apart->least < stored.offset + size && stored.offset < slot.offset + apart->most + 8;
}

bool is_stack_operand(const Capstone& instruction, const cs_x86_op& memory) {
  const auto base = instruction.number_of(memory.mem.base);
  return (base == rsp || base == rbp) && memory.mem.index == X86_REG_INVALID && memory.mem.segment == X86_REG_INVALID;
}

/// Whether a slot that gets this value says so.
bool is_kept(const Value& value, std::int64_t size) {
  return size == 8 && !value.is(Value::Kind::Unknown) && !value.is(Value::Kind::Constant);
}

}  // namespace

Value address_of(const Capstone& instruction, const cs_x86_op& memory, const Facts& facts) {
  const auto& [segment, base, index, scale, displacement] = memory.mem;
  if (segment != X86_REG_INVALID) return {};
  const auto value_of = [&](unsigned reg) {
    if (reg == X86_REG_INVALID) return constant(0);
    if (reg == X86_REG_RIP) return constant(static_cast<std::int64_t>(instruction.next()));
    const auto number = instruction.number_of(reg);
    return number == no_register ? Value{} : facts.registers[number];
  };
  const Value scaled = value_of(index), start = value_of(base);
  if (!scaled.is(Value::Kind::Constant)) return {};
  return moved(start, scaled.number * scale + displacement);
}

bool is_at_or_above(const Place& place, const Place& other, const FindBounds& find_bounds) {
  const auto apart = distance(other.base, place.base, find_bounds);
  return apart && place.offset + apart->least >= other.offset;
}

void Transfer::apply() {
  const auto operands = instruction_.operands();
  switch (instruction_.id()) {
    case X86_INS_MOV:
    case X86_INS_MOVABS:
      return move();
    case X86_INS_LEA:
      return load_address();
    case X86_INS_ADD:
      return add(1);
    case X86_INS_SUB:
      return add(-1);
    case X86_INS_AND:
      return mask();
    case X86_INS_OR:  // nothing is changed by 0: a probe
      if (operands[0].type == X86_OP_MEM && operands[1].type == X86_OP_IMM && operands[1].imm == 0) return;
      return others();
    case X86_INS_XOR:
      if (operands[0].type == X86_OP_REG && operands[1].type == X86_OP_REG && operands[0].reg == operands[1].reg &&
          operands[0].size >= 4)
        return set(operands[0], constant(0));
      return others();
    case X86_INS_PUSH:
    case X86_INS_PUSHFQ:
      return push();
    case X86_INS_POP:
    case X86_INS_POPFQ:
      return pop();
    case X86_INS_LEAVE:
      return leave();
    case X86_INS_NOP:
      return;
    default:
      return others();
  }
}

void Transfer::call() {
  for (std::uint8_t reg = 0; reg < facts_.registers.size(); ++reg) {
    const bool is_kept = reg == 3 || reg == rsp || reg == rbp || reg >= 12;
    if (!is_kept) facts_.registers[reg] = {};
  }
  drop_below_stack_pointer();
  if (facts_.registers[rsp].is(Value::Kind::Probing)) move_stack_pointer({});
}

void Transfer::push_next() {
  move_stack_pointer(moved(facts_.registers[rsp], -8));
  if (facts_.registers[rsp].is(Value::Kind::Stack)) store(facts_.registers[rsp].place, 8, {});
}

void Transfer::drop_below_stack_pointer() {
  const Value& pointer = facts_.registers[rsp];
  if (!pointer.is(Value::Kind::Stack)) return;
  std::erase_if(facts_.slots,
                [&](const auto& slot) { return !is_at_or_above(slot.first, pointer.place, find_bounds_); });
}

/// SP that is not known is below all slots: it only ever gets so by being lowered, or back to where it was.
void Transfer::move_stack_pointer(const Value& value) {
  if (!value.is(Value::Kind::Stack)) drop_below_stack_pointer();
  facts_.registers[rsp] = value.is(Value::Kind::Stack) || value.is(Value::Kind::Probing) ? value : Value{};
}

Value Transfer::load(const Value& address) const {
  if (!address.is(Value::Kind::Stack)) return {};
  for (const auto& [place, value] : facts_.slots)
    if (place == address.place) return value;
  return {};
}

Value Transfer::value_of(const cs_x86_op& operand) const {
  if (operand.type == X86_OP_IMM) return constant(operand.imm);
  if (operand.size != 8) return {};
  if (operand.type == X86_OP_MEM) return load(address_of(instruction_, operand, facts_));
  const auto reg = instruction_.number_of(operand.reg);
  return reg == no_register ? Value{} : facts_.registers[reg];
}

void Transfer::set(const cs_x86_op& operand, const Value& value) {
  const auto reg = instruction_.number_of(operand.reg);
  if (reg == rsp) return move_stack_pointer(value);
  if (reg != no_register) facts_.registers[reg] = value;
}

void Transfer::store(const cs_x86_op& memory, const Value& value) {
  const Value address = address_of(instruction_, memory, facts_);
  if (address.is(Value::Kind::Stack))
    return store(address.place, memory.size, value,
                 !is_stack_operand(instruction_, memory) && !is_kept(value, memory.size));
  if (!facts_.registers[rsp].is(Value::Kind::Probing) || !is_stack_operand(instruction_, memory)) return;
  // What has just been allocated holds nothing yet.
  const std::int64_t at = memory.mem.disp;
  const bool is_new = instruction_.number_of(memory.mem.base) == rsp && at >= 0 && at + memory.size <= lowered_before_;
  if (!is_new) facts_.slots.clear();
}

void Transfer::store(const Place& place, std::int64_t size, const Value& value, bool is_believed_to_miss) {
  std::erase_if(facts_.slots, [&](const auto& slot) {
    if (!may_overlap(place, size, slot.first, find_bounds_)) return false;
    if (!is_believed_to_miss || slot.second.is(Value::Kind::Stack)) return true;
    ++believed_missed_;
    return false;
  });
  if (is_kept(value, size)) facts_.slots.emplace_back(place, value);
}

void Transfer::move() {
  const auto operands = instruction_.operands();
  if (operands.size() != 2) return others();
  if (operands[0].type == X86_OP_MEM) return store(operands[0], value_of(operands[1]));
  if (operands[0].size == 8) return set(operands[0], value_of(operands[1]));
  if (operands[0].size == 4 && operands[1].type == X86_OP_IMM)
    return set(operands[0], constant(static_cast<std::uint32_t>(operands[1].imm)));
  const auto from = instruction_.whole_register(operands[1], 4);
  if (from != no_register && facts_.registers[from].is(Value::Kind::Constant))
    return set(operands[0], constant(static_cast<std::uint32_t>(facts_.registers[from].number)));
  others();
}

void Transfer::load_address() {
  const auto operands = instruction_.operands();
  if (operands[0].size != 8) return others();
  set(operands[0], address_of(instruction_, operands[1], facts_));
}

void Transfer::add(int sign) {
  const auto operands = instruction_.operands();
  if (instruction_.whole_register(operands[0], 8) == no_register) return others();
  const Value left = value_of(operands[0]), right = value_of(operands[1]);
  if (left.is(Value::Kind::Probing)) {
    if (instruction_.lowers_stack_pointer_by() == 0) move_stack_pointer({});
    return;
  }
  if (right.is(Value::Kind::Constant)) return set(operands[0], moved(left, sign * right.number));
  if (sign > 0 && left.is(Value::Kind::Constant)) return set(operands[0], moved(right, left.number));
  set(operands[0], {});
}

void Transfer::mask() {
  const auto operands = instruction_.operands();
  const auto reg = instruction_.whole_register(operands[0], 8);
  if (reg == no_register) return others();
  const Value before = facts_.registers[reg];
  if (operands[1].type != X86_OP_IMM || operands[1].imm >= 0 || !before.is(Value::Kind::Stack))
    return set(operands[0], {});
  const auto base = static_cast<std::uint32_t>(instruction_.next() - instruction_.size());
  if (before.place.base != 0) {  // it may round something else than the last time
    const auto is_old = [&](const Value& value) { return value.is(Value::Kind::Stack) && value.place.base == base; };
    for (Value& value : facts_.registers)
      if (is_old(value)) value = {};
    std::erase_if(facts_.slots, [&](const auto& slot) { return slot.first.base == base || is_old(slot.second); });
  }
  set(operands[0], at({base, 0}));
}

void Transfer::push() {
  const auto operands = instruction_.operands();
  const Value pointer = facts_.registers[rsp];
  if (!pointer.is(Value::Kind::Stack) || (!operands.empty() && operands[0].size == 2)) return move_stack_pointer({});
  const Value value = operands.empty() ? Value{} : value_of(operands[0]);
  facts_.registers[rsp] = moved(pointer, -8);
  store(facts_.registers[rsp].place, 8, value);
}

void Transfer::pop() {
  const auto operands = instruction_.operands();
  const Value top = load(facts_.registers[rsp]);
  if (!operands.empty() && operands[0].size == 2) return move_stack_pointer({});
  move_stack_pointer(moved(facts_.registers[rsp], 8));
  if (operands.empty()) return;
  if (operands[0].type == X86_OP_MEM) return store(operands[0], top);
  set(operands[0], top);
}

void Transfer::leave() {
  const Value frame = facts_.registers[rbp];
  move_stack_pointer(moved(frame, 8));
  facts_.registers[rbp] = load(frame);
}

void Transfer::others() {
  const unsigned written = instruction_.written();
  if ((written >> rsp & 1U) != 0) move_stack_pointer({});
  for (unsigned reg = 0; reg < facts_.registers.size(); ++reg)
    if ((written >> reg & 1U) != 0) facts_.registers[reg] = {};
  const auto operands = instruction_.operands();
  const bool only_reads = instruction_.id() == X86_INS_CMP || instruction_.id() == X86_INS_TEST;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const bool is_unsure = operands[i].access == 0 && i == 0 && !only_reads;
    if (operands[i].type == X86_OP_MEM && ((operands[i].access & CS_AC_WRITE) != 0 || is_unsure))
      store(operands[i], {});
  }
}

}  // namespace sframe_gen::checker
