#include "trace/stack.hpp"

#include <algorithm>

namespace sframe_gen::trace {

namespace {

/// Linux gives programs 48 bits of address on aarch64; what a signature may take of the others, but for bit 55 and the
/// tag in the highest byte.
constexpr std::uint64_t signature_mask = 0x007f'0000'0000'0000;

bool wants_rows(unwind::Stop stop) {
  return stop == unwind::Stop::NoSection || stop == unwind::Stop::NoRow;
}

}  // namespace

Stack walk(AddressSpace& space, RememberedRows& rows, unwind::Registers registers, unwind::ReadMemory read,
           void* context, std::size_t most) {
  rows.resize(remembered_rows);
  const unwind::Walked walked{space.modules(), read, context, signature_mask, rows};
  unwind::Unwinder unwinder(walked);
  Stack stack;
  while (stack.frames.size() < most) {
    const Frame frame{registers.pc, registers.pc_is_exact != 0};
    stack.frames.push_back(frame);
    stack.stop = unwinder.step(registers);
    while (wants_rows(stack.stop) && space.find_rows(frame.instruction())) {
      // The unwinder knows its machine by the first section it is given.
      unwinder = unwind::Unwinder(walked);
      stack.stop = unwinder.step(registers);
    }
    if (stack.stop != unwind::Stop::Stepped) return stack;
  }
  stack.stop = unwind::Stop::Stepped;
  return stack;
}

}  // namespace sframe_gen::trace
