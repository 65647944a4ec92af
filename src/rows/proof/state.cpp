#include "rows/proof/state.hpp"

#include <algorithm>
#include <tuple>

namespace sframe_gen::rows::proof {

namespace {

bool uses(const Operand& memory, RegisterNumber reg) {
  return memory.base == reg || memory.index == reg;
}

std::uint32_t base_of(const Value& address) {
  return address.is(Value::Kind::Aligned) ? address.count : 0;
}

bool overlaps(const Slot& slot, std::uint32_t base, std::int64_t begin, std::int64_t size) {
  return slot.base == base && slot.offset < begin + size && begin < slot.offset + 8;
}

/// Whether SP is that of a loop of probes, which a path enters or goes on with.
bool is_probed(const Value& a, const Value& b, bool may_probe) {
  const bool may_begin = may_probe && is_on_stack(a) && b.is(Value::Kind::Probing);
  return may_begin || (a.is(Value::Kind::Probing) && is_on_stack(b));
}

}  // namespace

State State::at_entry() {
  State state;
  for (RegisterNumber reg = 0; reg < register_count; ++reg) state.registers_[reg] = entry_of(reg);
  state.registers_[rsp] = cfa_plus(-8);
  state.slots_.push_back({0, -8, return_address});
  return state;
}

void State::bound_ends_with(RegisterNumber reg) {
  if (uses(bounded.memory, reg)) bounded = {};
  if (part.reg == reg) part = {};
  const bool is_of_stack = comparison.kind == LastComparison::Kind::StackPointer && reg == rsp;
  if (is_of_stack || comparison.reg == reg || uses(comparison.memory, reg)) comparison = {};
}

void State::set(RegisterNumber reg, const Value& value) {
  bound_ends_with(reg);
  registers_[reg] = value;
}

void State::define(RegisterNumber reg, std::uint64_t pc, std::uint32_t count, std::uint8_t low_bits) {
  const auto is_older = [&](const Value& value) {
    return value.is(Value::Kind::Defined) && value.number == static_cast<std::int64_t>(pc);
  };
  for (Value& value : registers_)
    if (is_older(value)) value = unknown;
  set(reg, defined_at(pc, count, low_bits));
}

Value State::load(const Value& address, unsigned bits) const {
  if (!is_on_stack(address) || bits != 64) return unknown;
  const std::uint32_t base = base_of(address);
  for (const Slot& slot : slots_)
    if (slot.base == base && slot.offset == address.number) return slot.value;
  return unknown;
}

bool State::may_hit(const Slot& slot, std::uint32_t base, std::int64_t begin, std::int64_t size) const {
  if (base == 0 || slot.base != 0) return false;
  if (rounding.base != base) return true;
  // The place is between `from` - `slack` and `from`.
  return overlaps(slot, 0, rounding.from - rounding.slack + begin, size + rounding.slack);
}

void State::bounds_end_with_store(bool is_on_own_stack) {
  const auto may_change = [&](const Operand& memory) {
    return !is_on_own_stack || uses(memory, rsp) || uses(memory, rbp);
  };
  if (may_change(bounded.memory)) bounded = {};
  if (comparison.kind == LastComparison::Kind::Memory && may_change(comparison.memory)) comparison = {};
}

void State::forget_bounds() {
  bounds_end_with_store(false);
}

void State::store(const Value& address, unsigned bits, const Value& value, bool is_sure) {
  // What a pointer leads to is assumed to be no slot of this function's own.
  bounds_end_with_store(is_sure && is_on_stack(address));
  if (!is_on_stack(address)) return;
  const std::uint32_t base = base_of(address);
  const std::int64_t begin = address.number, size = std::max<unsigned>(bits / 8, 1);
  const bool is_kept =
      bits == 64 && (value.is(Value::Kind::Entry) || is_on_stack(value) || value.is(Value::Kind::ReturnAddress));
  // Saved registers and the return address alone get the benefit of the doubt (condition 9).
  std::erase_if(slots_, [&](const Slot& slot) {
    if (!is_sure && !is_kept && !is_on_stack(slot.value)) return false;
    return overlaps(slot, base, begin, size) || (is_sure && may_hit(slot, base, begin, size));
  });
  if (!is_kept || slots_.size() == most_slots) return;
  const auto place = std::ranges::find_if(
      slots_, [&](const Slot& slot) { return slot.base != base ? slot.base > base : slot.offset > begin; });
  slots_.insert(place, {base, begin, value});
}

void State::drop_below_stack_pointer() {
  const Value& pointer = registers_[rsp];
  if (!is_on_stack(pointer)) return;
  const std::uint32_t base = base_of(pointer);
  std::erase_if(slots_, [&](const Slot& slot) { return slot.base == base && slot.offset < pointer.number; });
}

void State::forget_saved_below_stack_pointer() {
  const Value& pointer = registers_[rsp];
  if (!is_on_stack(pointer)) return;
  const std::uint32_t base = base_of(pointer);
  std::erase_if(slots_, [&](const Slot& slot) {
    return slot.base == base && slot.offset < pointer.number && slot.value != return_address;
  });
}

void State::drop_aligned_slots() {
  std::erase_if(slots_, [](const Slot& slot) { return slot.base != 0; });
}

State::Join State::join(const State& other, bool may_probe) {
  bool changed = false;
  for (RegisterNumber reg = 0; reg < register_count; ++reg) {
    Value value = joined(registers_[reg], other.registers_[reg]);
    if (reg == rsp && is_probed(registers_[rsp], other.registers_[rsp], may_probe)) value = probing;
    if (value == registers_[reg]) continue;
    if (reg == rsp && !value.is(Value::Kind::Probing)) {
      const bool has_frame = registers_[rbp].is(Value::Kind::Cfa) && registers_[rbp] == other.registers_[rbp];
      if (!has_frame) return Join::Conflict;
    }
    if (reg == rsp) other.registers_[rsp].is(Value::Kind::Unknown) ? void() : drop_below_stack_pointer();
    registers_[reg] = value;
    changed = true;
  }
  const auto before = slots_.size();
  auto same = other.slots_.begin();  // both are by place
  std::erase_if(slots_, [&](const Slot& slot) {
    while (same != other.slots_.end() && std::tie(same->base, same->offset) < std::tie(slot.base, slot.offset)) ++same;
    return same == other.slots_.end() || *same != slot;
  });
  changed = changed || slots_.size() != before;
  if (comparison.kind != LastComparison::Kind::None) comparison = {};
  if (rounding != other.rounding && rounding.base != 0) {
    rounding = {};
    changed = true;
  }
  if (bounded.count != 0) {
    bounded = {};
    changed = true;
  }
  if (part != other.part && part.count != 0) {
    part = {};
    changed = true;
  }
  if (is_doubtful && !other.is_doubtful) {
    is_doubtful = false;
    changed = true;
  }
  if (other.trusts_callee && !trusts_callee) {
    trusts_callee = true;
    changed = true;
  }
  if (other.after_call == 0 && after_call != 0) {
    after_call = 0;
    changed = true;
  }
  if (!other.may_be_another && may_be_another) {
    may_be_another = false;
    changed = true;
  }
  return changed ? Join::Changed : Join::Same;
}

}  // namespace sframe_gen::rows::proof
