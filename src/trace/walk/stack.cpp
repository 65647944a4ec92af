#include "trace/walk/stack.hpp"

#include <span>

#include "trace/walk/signal_return.hpp"

namespace sframe_gen::trace {

namespace {

constexpr std::size_t remembered_rows = 4096;

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

Walker::Walker(std::size_t most_frames, bool by_dwarf_as_well)
    : most_frames_(most_frames), dwarf_(by_dwarf_as_well ? std::make_unique<DwarfWalker>(most_frames) : nullptr) {}

Stack Walker::walk(AddressSpace& space, const unwind::Registers& registers, unwind::ReadMemory read, void* context) {
  Stack stack = walk_by_sections(space, registers, read, context);
  if (dwarf_) stack.by_dwarf = dwarf_->walk(space, registers, read, context);
  return stack;
}

Stack Walker::walk_by_sections(AddressSpace& space, unwind::Registers registers, unwind::ReadMemory read,
                               void* context) {
  rows_.resize(remembered_rows);
  Stack stack;
  bool is_interrupted = true;
  while (stack.frames.size() < most_frames_) {
    const Frame frame{registers.pc, registers.pc_is_exact != 0};
    stack.frames.push_back(frame);
    const std::uint64_t pc = frame.instruction();
    // Of an interrupted function all registers count, wherever its PC is.
    if (is_interrupted) {
      registers.pc = pc;
      registers.pc_is_exact = 1;
    }
    stack.stop = step(space, rows_, registers, pc, read, context);
    while (wants_rows(stack.stop) && space.find_rows(pc)) {
      stack.stop = step(space, rows_, registers, pc, read, context);
    }
    is_interrupted = wants_rows(stack.stop) && return_from_signal(space, registers, read, context);
    if (stack.stop != unwind::Stop::Stepped && !is_interrupted) return stack;
  }
  stack.stop = unwind::Stop::Stepped;
  return stack;
}

}  // namespace sframe_gen::trace
