#include "walk.hpp"

#include <cstring>

#include "sframe_gen/lookup.hpp"

namespace sframe_gen::unwind {

namespace {

/// One step: a row's rules on real registers and memory.
class Step {
 public:
  Step(const Registers& registers, const Stack& stack) : registers_(registers), stack_(stack) {}

  /// No value: `problem` says why.
  std::optional<std::uint64_t> apply(const sframe::Rule& rule, std::uint64_t cfa) {
    std::uint64_t base = cfa;
    if (rule.base_register) {
      const bool known = *rule.base_register < Registers::count && registers_.values[*rule.base_register].has_value();
      if (!known) {
        problem = End::UnknownRegister;
        return std::nullopt;
      }
      base = *registers_.values[*rule.base_register];
    }
    const std::uint64_t place = base + static_cast<std::uint64_t>(std::int64_t{rule.offset});
    if (!rule.dereferenced) return place;
    if (place < stack_.low || place > stack_.high - sizeof place) {
      problem = End::OutsideStack;
      return std::nullopt;
    }
    std::uint64_t value = 0;
    std::memcpy(&value, reinterpret_cast<const void*>(place), sizeof value);
    return value;
  }

  End problem = End::Outermost;

 private:
  const Registers& registers_;
  const Stack& stack_;
};

}  // namespace

Walk walk(const Tables& tables, Registers registers, bool pc_is_exact, const Stack& stack, Pcs& pcs) {
  pcs.clear();
  const sframe::Fde* innermost = nullptr;
  const auto stop = [&](End end) { return Walk{end, innermost}; };
  while (registers.pc != 0) {
    if (pcs.full()) return stop(End::TooDeep);
    pcs.add(registers.pc);
    // A return address may lie behind the function's last instruction; the call itself does not.
    const std::uint64_t pc = pc_is_exact ? registers.pc : registers.pc - 1;
    const LoadedFile* const file = tables.find(pc);
    if (file == nullptr) return stop(End::NotCode);
    if (!file->has_section) return stop(End::NoSection);
    const sframe::Fde* const function = sframe::find_fde(file->section, pc);
    if (pcs.size() == 1) innermost = function;
    const sframe::Fre* const row = function != nullptr ? sframe::find_fre(*function, pc - function->start) : nullptr;
    if (row == nullptr) return stop(End::NoRow);
    if (!row->recovery) return stop(End::Outermost);

    Step step(registers, stack);
    const auto cfa = step.apply(row->recovery->cfa, 0);
    if (!cfa) return stop(step.problem);
    const sframe::Rule fixed_place{std::nullopt, file->section.fixed_ra_offset, true};
    const auto return_address = step.apply(row->recovery->return_address.value_or(fixed_place), *cfa);
    if (!return_address) return stop(step.problem);
    auto frame_pointer = registers.values[Registers::fp];
    if (row->recovery->frame_pointer) {
      // GCC's CFI of realigned frames is off by an instruction: once the epilogue has popped rbp, its rule still counts
      // from rbp, now the caller's. The value does no harm as long as no frame asks for it.
      frame_pointer = step.apply(*row->recovery->frame_pointer, *cfa);
    }
    registers = {};
    registers.pc = *return_address;
    registers.values[Registers::sp] = *cfa;
    registers.values[Registers::fp] = frame_pointer;
    pc_is_exact = function->signal_frame;
  }
  return stop(End::Outermost);
}

}  // namespace sframe_gen::unwind
