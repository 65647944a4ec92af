#include "trace/walk/stack.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>

#include "support/endian.hpp"
#include "trace/walk/begin_of_stack.hpp"
#include "trace/walk/kernel_registers.hpp"

namespace sframe_gen::trace::walk {

namespace {

constexpr std::size_t remembered_rows = 4096;
/// Deeper stacks are cut: each frame is looked up, though few are kept.
constexpr std::size_t most_walked = std::size_t{1} << 16U;
constexpr std::size_t word_bytes = 8;

}  // namespace

namespace {

/// Goes to the caller by a row that counts from what an x86-64 frame has: SP or FP. NoRow: it has it not, or the caller
/// is not above.
unwind::Stop apply_row(const sframe::RecoveryRules& row, const sframe::AbiTraits& abi, unwind::ReadMemory read,
                       void* context, unwind::Registers& registers) {
  const auto address_of = [&](const sframe::Rule& rule, std::uint64_t cfa) -> std::optional<std::uint64_t> {
    if (rule.base_register && !registers.knows(*rule.base_register)) return std::nullopt;
    const std::uint64_t base = rule.base_register ? registers.values[*rule.base_register] : cfa;
    return base + static_cast<std::uint64_t>(std::int64_t{rule.offset});
  };
  const auto load_word = [&](std::uint64_t address) -> std::optional<std::uint64_t> {
    std::array<std::byte, sizeof address> bytes{};
    if (!read(context, address, bytes.data())) return std::nullopt;
    return load<std::uint64_t>(bytes, abi.endian);
  };
  const auto cfa = address_of(row.cfa, 0);
  if (!cfa || !row.return_address || row.cfa.dereferenced) return unwind::Stop::NoRow;
  if (registers.knows(abi.stack_pointer) && *cfa <= registers.values[abi.stack_pointer]) return unwind::Stop::NoRow;
  const auto pc_at = address_of(*row.return_address, *cfa);
  const auto pc = pc_at && row.return_address->dereferenced ? load_word(*pc_at) : std::nullopt;
  if (!pc) return unwind::Stop::UnreadableMemory;
  auto fp = row.frame_pointer ? address_of(*row.frame_pointer, *cfa) : std::nullopt;
  if (fp && row.frame_pointer->dereferenced) fp = load_word(*fp);
  registers.pc = *pc;
  registers.pc_is_exact = 0;
  registers.known = 0;
  registers.set(abi.stack_pointer, *cfa);
  if (fp) registers.set(abi.frame_pointer, *fp);
  return unwind::Stop::Stepped;
}

}  // namespace

Walker::Walker(std::size_t most_frames, bool by_dwarf_as_well, FramePointers frame_pointers, sframe::Abi abi)
    : abi_(sframe::traits_of(abi)),
      most_frames_(most_frames),
      rows_(remembered_rows),
      dwarf_(by_dwarf_as_well ? std::make_unique<DwarfWalker>(std::max(most_frames, most_walked)) : nullptr),
      frame_pointers_(frame_pointers),
      frame_pointer_step_(abi_) {
  walked_.read = read_memory;
  walked_.fallback = without_row;
  walked_.context = this;
  walked_.signature_mask = signature_mask;
  walked_.rows = rows_;
}

std::uint64_t count_frames(const std::vector<Frame>& frames) {
  std::uint64_t count = 0;
  for (const Frame& frame : frames) count += frame.left_out == 0 || frame.left_out == Frame::some ? 1 : frame.left_out;
  return count;
}

bool keep_both_ends(std::vector<Frame>& frames, std::size_t most) {
  constexpr std::size_t fewest = 8;
  if (frames.size() <= most) return true;
  if (most < fewest) {
    frames.resize(most);
    return false;
  }
  const auto begin = frames.begin() + static_cast<std::ptrdiff_t>(most / 2);
  const auto end = frames.end() - static_cast<std::ptrdiff_t>(most - most / 2 - 1);
  const bool is_known = std::none_of(begin, end, [](const Frame& frame) { return frame.left_out == Frame::some; });
  const std::uint64_t count = count_frames({begin, end});
  *begin = {.pc_is_exact = false, .left_out = is_known ? static_cast<std::uint32_t>(count) : Frame::some};
  frames.erase(begin + 1, end);
  return true;
}

Stack Walker::walk(AddressSpace& space, const unwind::Registers& registers, unwind::ReadMemory read, void* context) {
  Stack stack;
  walk_all(space, registers, read, context, stack);
  leave_out(stack);
  return stack;
}

void Walker::walk_all(AddressSpace& space, const unwind::Registers& registers, unwind::ReadMemory read, void* context,
                      Stack& stack) {
  space_ = &space;
  read_ = read;
  context_ = context;
  walk_by_sections(registers, stack);
  if (dwarf_) stack.by_dwarf = dwarf_->walk(space, registers, read, context);
}

bool Walker::read_memory(void* walker, std::uint64_t address, void* bytes) {
  const auto& self = *static_cast<const Walker*>(walker);
  return self.read_(self.context_, address, bytes) || self.read_popped(address, bytes);
}

/// Reads the slot that an interrupted function has popped its frame pointer from: it is below the stack pointer, where
/// recorded pieces of stacks do not reach, and the register has what was there.
bool Walker::read_popped(std::uint64_t address, void* bytes) const {
  const unwind::Registers& frame = *registers_;
  if (frame.pc_is_exact == 0 || !frame.knows(abi_.stack_pointer) || !frame.knows(abi_.frame_pointer)) return false;
  const std::uint64_t sp = frame.values[abi_.stack_pointer];
  const std::shared_ptr<const CodeFile> file = address < sp && location_ != nullptr ? location_->file() : nullptr;
  if (!file || sp - address != file->popped_frame_pointer_at(frame.pc - location_->bias)) return false;
  store(std::span(static_cast<std::byte*>(bytes), sizeof address), frame.values[abi_.frame_pointer], abi_.endian);
  return true;
}

/// Has the unwinder see the modules as they are now.
void Walker::use_modules() {
  const std::uint64_t generation = space_->modules().generation();
  if (generation == walked_.generation) return;
  // Slots compare the low half.
  if (generation >> 32U != walked_.generation >> 32U) std::ranges::fill(rows_, unwind::RowSlot{});
  walked_.modules = space_->modules().modules();
  walked_.generation = generation;
  unwinder_ = unwind::Unwinder(walked_);
}

unwind::Stop Walker::step(unwind::Registers& registers) {
  use_modules();
  registers_ = &registers;
  return unwinder_.step(registers);
}

/// No exception may go through the unwinder.
unwind::Stop Walker::without_row(void* walker, unwind::Registers& registers, unwind::Stop why) {
  auto& self = *static_cast<Walker*>(walker);
  try {
    return self.without_any_row(registers, why);
  } catch (...) {
    self.failure_ = std::current_exception();
    return why;
  }
}

bool Walker::is_begin_of_stack(const unwind::Registers& registers) const {
  const std::uint32_t stack_pointer = abi_.stack_pointer;
  // Where calls keep the return address in a register, a function that the program's first has called may have moved
  // the stack pointer no further.
  return abi_.fixed_ra_offset != 0 && registers.knows(stack_pointer) &&
         trace::walk::is_begin_of_stack(abi_.endian, registers.values[stack_pointer], read_, context_);
}

bool Walker::is_end_of_go_stack(const unwind::Registers& registers) const {
  const std::shared_ptr<CodeFile> file = location_ != nullptr ? location_->file() : nullptr;
  const GoCode* const go = file && registers.pc_is_exact == 0 ? file->go_code() : nullptr;
  return go != nullptr && go->never_returns_to(registers.pc - 1 - location_->bias);
}

/// musl's entry point aligns the stack pointer, so that is_begin_of_stack() does not hold once it has called.
bool Walker::is_begin_of_program(const unwind::Registers& registers) const {
  const std::shared_ptr<CodeFile> file = location_ != nullptr ? location_->file() : nullptr;
  return file && file->begins_program(registers.pc - (registers.pc_is_exact != 0 ? 0 : 1) - location_->bias);
}

/// By a row that is made from code, if that leads to where a call returns to.
unwind::Stop Walker::step_by_code(unwind::Registers& registers) {
  // Just-in-time compilers make a file of each function.
  const bool is_of_file = location_ != nullptr && !location_->is_of_no_file();
  const std::shared_ptr<CodeFile> file = is_of_file ? location_->file() : nullptr;
  if (!file) return unwind::Stop::NoRow;
  const bool is_exact = registers.pc_is_exact != 0;
  const auto row = file->row_from_code(registers.pc - (is_exact ? 0 : 1) - location_->bias, is_exact);
  if (!row) return unwind::Stop::NoRow;
  unwind::Registers caller = registers;
  const unwind::Stop stop = apply_row(*row, abi_, read_, context_, caller);
  if (stop != unwind::Stop::Stepped) return stop;
  if (!space_->has_code_at(caller.pc - 1) || !may_return_to(caller.pc)) return unwind::Stop::NoRow;
  registers = caller;
  used_code_ = true;
  return stop;
}

/// Opens what the PC leads to, and steps by that; or else by what its code shows, or by the frame pointer.
unwind::Stop Walker::without_any_row(unwind::Registers& registers, unwind::Stop why) {
  if (why == unwind::Stop::NoSection || why == unwind::Stop::NoRow) {
    if (space_->find_rows(registers.pc - (registers.pc_is_exact != 0 ? 0 : 1))) return step(registers);
    is_interrupted_ = return_from_signal(*space_, registers, read_, context_);
    if (is_interrupted_) return unwind::Stop::Stepped;
    if (is_begin_of_stack(registers) || is_end_of_go_stack(registers)) return unwind::Stop::Outermost;
    if (is_begin_of_program(registers)) return unwind::Stop::Outermost;
    const unwind::Stop of_call = step_from_system_call(registers);
    if (is_after_call_) return of_call;
    const unwind::Stop by_code = step_by_code(registers);
    if (by_code != unwind::Stop::NoRow) return by_code;
  }
  return may_use_frame_pointer(registers, why) ? step_by_frame_pointer(registers, why) : why;
}

/// A thread in a system call has the PC after it, where another function may begin. Nothing has changed since the call.
unwind::Stop Walker::step_from_system_call(unwind::Registers& registers) {
  const std::shared_ptr<const CodeFile> file = location_ != nullptr ? location_->file() : nullptr;
  if (registers.pc_is_exact == 0 || !file || !file->is_after_system_call(registers.pc - location_->bias))
    return unwind::Stop::NoRow;
  unwind::Registers at_call = registers;
  at_call.pc_is_exact = 0;  // as if the kernel were to return there
  const unwind::Stop stop = step(at_call);
  is_after_call_ = stop == unwind::Stop::Stepped || stop == unwind::Stop::Outermost;
  if (is_after_call_) {
    registers = at_call;
  } else {
    frame_pointer_fault_ = FramePointerFault::None;
  }
  return stop;
}

unwind::Stop Walker::step_by_frame_pointer(unwind::Registers& registers, unwind::Stop why) {
  if (!frame_pointer_step_.is_possible(registers)) return why;
  unwind::Registers caller = registers;
  const unwind::Stop stop = frame_pointer_step_.step(*space_, read_, context_, caller, frame_pointer_fault_);
  const bool is_unseen = frame_pointers_ == FramePointers::Auto && is_in_code_of_no_file(registers);
  if (stop == unwind::Stop::Stepped) frame_pointer_fault_ = fault_of(registers, caller, is_unseen);
  if (is_unseen) note_frame_pointer(registers);
  if (frame_pointer_fault_ != FramePointerFault::None) return why;
  used_frame_pointer_ = stop == unwind::Stop::Stepped;
  if (used_frame_pointer_) registers = caller;
  return stop;
}

/// Why a step that the memory allows is not sure to lead to the caller. Where it `is_unseen` that a function keeps a
/// frame pointer, the stack must show it: in Java's code, the register may have any value, or be that of an outer
/// function.
FramePointerFault Walker::fault_of(const unwind::Registers& registers, const unwind::Registers& caller,
                                   bool is_unseen) {
  if (!may_return_to(caller.pc)) return FramePointerFault::NoCall;
  if (!is_unseen) return FramePointerFault::None;
  const std::uint64_t record = registers.values[abi_.frame_pointer], next = caller.values[abi_.frame_pointer];
  if (next != 0 && next <= record) return FramePointerFault::NotRising;
  // Where calls keep the return address in a register, that of a caller that is left out may be nowhere else.
  const bool is_shown = abi_.fixed_ra_offset != 0;
  return is_shown && may_leave_out_caller(registers, record) ? FramePointerFault::OtherReturn : FramePointerFault::None;
}

/// Whether the frame pointer may be that of a caller, which the step would leave out. Such a caller's callee has just
/// begun or is about to end, and then its return address is at the stack pointer; or it has saved the frame pointer
/// below its return address. What a call has left that is over looks like the latter. So callers, which have set their
/// frame pointers if they ever do, are not looked at in a program whose last stacks show that its code keeps them. A
/// caller that its callee's code has led to may not have set it: V8's functions call a builtin to make their frame.
/// What is left of calls in V8's own frames does not tell apart either: its tail calls look the same.
///
/// The code at a return address in no file is not looked at: Java's interpreter calls by a jump.
bool Walker::may_leave_out_caller(const unwind::Registers& registers, std::uint64_t record) {
  // In one walk: more than programs have of stack.
  constexpr std::size_t most_words = std::size_t{1} << 20U;
  const std::uint64_t begin = registers.values[abi_.stack_pointer];
  const bool may_have_begun = registers.pc_is_exact != 0 || was_found_by_code_;
  if (!may_have_begun && space_->keeps_frame_pointers()) return false;
  if (registers.pc_is_exact != 0 && may_return_by_register(registers)) return true;
  bool is_expected = may_have_begun;
  for (std::uint64_t address = begin; address <= record; address += word_bytes) {
    std::uint64_t word = 0;
    if (words_sought_++ == most_words || !read_word(address, word)) return true;
    if (is_expected && word != 0 && space_->has_code_at(word - 1) && may_return_to(word)) return true;
    is_expected = (is_expected && address != begin) || word == record;
  }
  return false;
}

/// Whether a register may have the return address: V8's functions and Java's interpreter pop it, drop the arguments,
/// and go there. V8 aligns its functions, whose addresses are in these registers as well.
bool Walker::may_return_by_register(const unwind::Registers& registers) {
  constexpr std::uint32_t rcx = 2, rsi = 4, r9 = 9, r10 = 10;
  constexpr std::uint64_t alignment = 32;
  const auto may_return = [&](std::uint32_t number) {
    const std::uint64_t value = registers.knows(number) ? registers.values[number] : 0;
    const Location* const location = value == 0 ? nullptr : space_->location_of(value - 1);
    if (location == nullptr) return false;
    return location->is_of_no_file() ? value % alignment != 0 : may_return_to(value);
  };
  return std::ranges::any_of(std::array{rcx, rsi, r9, r10}, may_return);
}

/// What the frame pointer is in a program's own code.
void Walker::note_frame_pointer(const unwind::Registers& registers) {
  constexpr std::uint64_t far = std::uint64_t{1} << 20U;
  const std::uint64_t distance = registers.values[abi_.frame_pointer] - registers.values[abi_.stack_pointer];
  switch (frame_pointer_fault_) {
    case FramePointerFault::NotAbove:
    case FramePointerFault::NotRising:
    case FramePointerFault::NoCode:
    case FramePointerFault::NoCall:
      return space_->note_frame_pointer(false);
    case FramePointerFault::Outside:
      if (distance > far) space_->note_frame_pointer(false);
      return;
    case FramePointerFault::None:
      if (registers.pc_is_exact != 0) space_->note_frame_pointer(true);
      return;
    case FramePointerFault::OtherReturn:
      return;
  }
}

bool Walker::read_word(std::uint64_t address, std::uint64_t& word) const {
  std::array<std::byte, word_bytes> bytes{};
  if (!read_(context_, address, bytes.data())) return false;
  word = load<std::uint64_t>(bytes, abi_.endian);
  return true;
}

/// Nothing is known of code of no file.
bool Walker::may_return_to(std::uint64_t pc) {
  const Location* const location = space_->location_of(pc - 1);
  const std::shared_ptr<const CodeFile> file = location != nullptr ? location->file() : nullptr;
  return file == nullptr || file->may_return_to(pc - location->bias);
}

bool Walker::is_in_code_of_no_file(const unwind::Registers& registers) {
  const Location* const location = space_->location_of(registers.pc - (registers.pc_is_exact != 0 ? 0 : 1));
  return location != nullptr && location->is_of_no_file();
}

bool Walker::may_use_frame_pointer(const unwind::Registers& registers, unwind::Stop why) {
  if (frame_pointers_ != FramePointers::Auto) return frame_pointers_ == FramePointers::Always;
  if (why != unwind::Stop::NoSection && why != unwind::Stop::NoRow) return false;
  const bool is_exact = registers.pc_is_exact != 0;
  const std::uint64_t pc = registers.pc - (is_exact ? 0 : 1);
  const Location* const location = space_->location_of(pc);
  if (location == nullptr) return false;
  if (location->is_of_no_file()) return true;
  const std::shared_ptr<CodeFile> file = location->file();
  if (!file) return false;
  return file->keeps_frame_pointer_at(pc - location->bias, is_exact);
}

void Walker::leave_out(Stack& stack) const {
  if (stack.stop == unwind::Stop::Stepped) {
    stack.frames.resize(std::min(stack.frames.size(), most_frames_));
  } else if (!keep_both_ends(stack.frames, most_frames_)) {
    stack.stop = unwind::Stop::Stepped;
  }
}

FrameBase Walker::base_of(const unwind::Registers& registers) const {
  FrameBase base{.knows_stack_pointer = registers.knows(abi_.stack_pointer),
                 .knows_frame_pointer = registers.knows(abi_.frame_pointer)};
  if (base.knows_stack_pointer) base.stack_pointer = registers.values[abi_.stack_pointer];
  if (base.knows_frame_pointer) base.frame_pointer = registers.values[abi_.frame_pointer];
  return base;
}

void Walker::walk_by_sections(unwind::Registers registers, Stack& stack) {
  stack.frames.clear();
  stack.bases.clear();
  stack.frame_pointer_fault = FramePointerFault::None;
  stack.chain_end = ChainEnd::None;
  is_interrupted_ = true;
  used_frame_pointer_ = used_code_ = is_after_call_ = false;
  words_sought_ = 0;
  frame_pointer_fault_ = FramePointerFault::None;
  const std::size_t most = std::max(most_frames_, most_walked);
  while (stack.frames.size() < most) {
    Frame& frame = stack.frames.emplace_back(Frame{registers.pc, registers.pc_is_exact != 0});
    frame.by_frame_pointer = std::exchange(used_frame_pointer_, false);
    frame.by_code = was_found_by_code_ = std::exchange(used_code_, false);
    stack.bases.push_back(base_of(registers));
    const std::uint64_t pc = frame.instruction();
    // All registers of an interrupted function are valid, wherever its PC is.
    if (is_interrupted_) {
      registers.pc = pc;
      registers.pc_is_exact = 1;
    }
    is_interrupted_ = false;
    // First, as a file that is opened tells where modules end.
    frame.location = location_ = space_->location_of(pc);
    stack.stop = step(registers);
    // Its function is that of the call.
    if (std::exchange(is_after_call_, false)) {
      frame.pc_is_exact = false;
      frame.location = space_->location_of(frame.instruction());
    }
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    // A row that counts from the stack pointer is none, if a frame pointer led here and does not tell it.
    if (stack.stop == unwind::Stop::UnknownRegister && frame.by_frame_pointer &&
        frame_pointers_ == FramePointers::Always)
      stack.stop = step_by_frame_pointer(registers, stack.stop);
    stack.frame_pointer_fault = frame_pointer_fault_;
    if (stack.stop != unwind::Stop::Stepped) return;
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

namespace {

/// What was left out is not compared, but for how many frames it is.
std::vector<Frame> with_frames_between(const std::vector<Frame>& kept, const std::vector<Frame>& others) {
  std::vector<Frame> all;
  for (const Frame& frame : kept) {
    if (frame.left_out == 0) all.push_back(frame);
    for (std::uint32_t i = 0; i < frame.left_out && all.size() < others.size(); ++i) all.push_back(others[all.size()]);
  }
  return all;
}

}  // namespace

std::optional<Comparison> comparison_of(const Stack& stack) {
  if (!stack.by_dwarf || stack.by_dwarf->frames.empty()) return std::nullopt;
  const auto& [frames, cut, memory_ends] = *stack.by_dwarf;
  Comparison comparison{.dwarf_frame = {}, .dwarf_last = frames.size() - 1, .dwarf_cut = cut.value_or("")};
  // The same words as for our own walk.
  if (cut && memory_ends && stack.is_piece) comparison.dwarf_cut = "the recorded piece of the stack ends";
  const std::vector<Frame> own = with_frames_between(stack.frames, frames);
  const auto [ours, theirs] = std::ranges::mismatch(own, frames, {}, &Frame::pc, &Frame::pc);
  const bool ours_ends = ours == own.end(), theirs_ends = theirs == frames.end();
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

}  // namespace sframe_gen::trace::walk
