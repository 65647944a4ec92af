#include "trace/walk/stack.hpp"

#include <algorithm>

#include "trace/walk/registers.hpp"

namespace sframe_gen::trace {

namespace {

constexpr std::size_t remembered_rows = 4096;
/// More are not looked through faster than the address space.
constexpr std::size_t most_known = 8;

bool wants_rows(unwind::Stop stop) {
  return stop == unwind::Stop::NoSection || stop == unwind::Stop::NoRow;
}

}  // namespace

Walker::Walker(std::size_t most_frames, bool by_dwarf_as_well)
    : most_frames_(most_frames), dwarf_(by_dwarf_as_well ? std::make_unique<DwarfWalker>(most_frames) : nullptr) {}

Stack Walker::walk(AddressSpace& space, const unwind::Registers& registers, unwind::ReadMemory read, void* context) {
  Stack stack;
  walk(space, registers, read, context, stack);
  return stack;
}

void Walker::walk(AddressSpace& space, const unwind::Registers& registers, unwind::ReadMemory read, void* context,
                  Stack& stack) {
  begin(space, read, context);
  walk_by_sections(space, registers, stack);
  if (dwarf_) stack.by_dwarf = dwarf_->walk(space, registers, read, context);
}

void Walker::begin(const AddressSpace& space, unwind::ReadMemory read, void* context) {
  const bool is_same = space.version() == version_;
  if (!is_same) rows_.assign(remembered_rows, {});
  if (!is_same || read != read_ || context != context_) known_.clear();
  version_ = space.version();
  read_ = read;
  context_ = context;
}

const Walker::Known* Walker::module_at(AddressSpace& space, std::uint64_t pc) {
  for (const Known& known : known_) {
    if (known.begin <= pc && pc < known.end) return &known;
  }
  // First, as a file that is opened tells where modules end.
  const Location* const location = space.location_of(pc);
  if (location == nullptr) return nullptr;
  const unwind::Module* const module = space.module_at(pc);
  if (known_.size() == most_known) known_.clear();
  const unwind::Unwinder unwinder({{module, 1}, read_, context_, signature_mask, rows_});
  return &known_.emplace_back(Known{module->begin, module->end, location, unwinder});
}

bool Walker::find_rows(AddressSpace& space, std::uint64_t pc) {
  if (!space.find_rows(pc)) return false;
  known_.clear();
  return true;
}

void Walker::walk_by_sections(AddressSpace& space, unwind::Registers registers, Stack& stack) {
  stack.frames.clear();
  bool is_interrupted = true;
  while (stack.frames.size() < most_frames_) {
    Frame& frame = stack.frames.emplace_back(Frame{registers.pc, registers.pc_is_exact != 0});
    const std::uint64_t pc = frame.instruction();
    // All registers of an interrupted function are valid, wherever its PC is.
    if (is_interrupted) {
      registers.pc = pc;
      registers.pc_is_exact = 1;
    }
    do {
      const Known* const known = module_at(space, pc);
      if (known != nullptr) frame.location = known->location;
      stack.stop = known != nullptr ? known->unwinder.step(registers) : unwind::Stop::NoModule;
    } while (wants_rows(stack.stop) && find_rows(space, pc));
    is_interrupted = wants_rows(stack.stop) && return_from_signal(space, registers, read_, context_);
    if (stack.stop != unwind::Stop::Stepped && !is_interrupted) return;
  }
  stack.stop = unwind::Stop::Stepped;
}

const char* text_of(Match match) {
  switch (match) {
    case Match::Equal:
      return "equal";
    case Match::UpToCut:
      return "equal up to a cut";
    case Match::Different:
      return "different";
  }
  return "";
}

std::optional<Comparison> comparison_of(const Stack& stack) {
  if (!stack.by_dwarf || stack.by_dwarf->frames.empty()) return std::nullopt;
  const auto& [frames, cut, memory_ends] = *stack.by_dwarf;
  Comparison comparison{.dwarf_frame = {}, .dwarf_last = frames.size() - 1, .dwarf_cut = cut.value_or("")};
  // The same words as for our own walk.
  if (cut && memory_ends && stack.is_piece) comparison.dwarf_cut = "the recorded piece of the stack ends";
  const auto [ours, theirs] = std::ranges::mismatch(stack.frames, frames, {}, &Frame::pc, &Frame::pc);
  const bool ours_ends = ours == stack.frames.end(), theirs_ends = theirs == frames.end();
  const bool is_cut = (ours_ends && !stack.is_whole()) || (theirs_ends && cut);
  if (is_cut) {
    comparison.match = Match::UpToCut;
  } else if (!ours_ends || !theirs_ends) {
    comparison.match = Match::Different;
    comparison.frame = static_cast<std::size_t>(theirs - frames.begin());
    if (!theirs_ends) comparison.dwarf_frame = *theirs;
  }
  return comparison;
}

}  // namespace sframe_gen::trace
