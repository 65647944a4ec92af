#include "trace/stack.hpp"

#include <span>

namespace sframe_gen::trace {

namespace {

/// Linux gives programs 48 bits of address on aarch64; what a signature may take of the others, but for bit 55 and the
/// tag in the highest byte.
constexpr std::uint64_t signature_mask = 0x007f'0000'0000'0000;

bool wants_rows(unwind::Stop stop) {
  return stop == unwind::Stop::NoSection || stop == unwind::Stop::NoRow;
}

/// One step by the module that holds the PC: the unwinder is told of no others.
unwind::Stop step(const AddressSpace& space, std::span<unwind::RowSlot> rows, unwind::Registers& registers,
                  std::uint64_t pc, unwind::ReadMemory read, void* context) {
  const unwind::Module* const module = space.module_at(pc);
  if (module == nullptr) return unwind::Stop::NoModule;
  return unwind::Unwinder({{module, 1}, read, context, signature_mask, rows}).step(registers);
}

}  // namespace

Stack walk(AddressSpace& space, RememberedRows& rows, unwind::Registers registers, unwind::ReadMemory read,
           void* context, std::size_t most) {
  rows.resize(remembered_rows);
  Stack stack;
  while (stack.frames.size() < most) {
    const Frame frame{registers.pc, registers.pc_is_exact != 0};
    stack.frames.push_back(frame);
    const std::uint64_t pc = frame.instruction();
    stack.stop = step(space, rows, registers, pc, read, context);
    while (wants_rows(stack.stop) && space.find_rows(pc)) {
      stack.stop = step(space, rows, registers, pc, read, context);
    }
    if (stack.stop != unwind::Stop::Stepped) return stack;
  }
  stack.stop = unwind::Stop::Stepped;
  return stack;
}

}  // namespace sframe_gen::trace
