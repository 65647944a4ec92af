#include "code/step/shadow_stack.hpp"

#include <algorithm>
#include <cstring>
#include <span>

namespace sframe_gen::stepping {

namespace {

/// No function takes a frame as large in one step; to move SP further is to change stacks.
constexpr std::uint64_t most_in_one_step = std::uint64_t{256} << 10U;
constexpr std::size_t most_other_stacks = 64;
/// What may lie between where SP was when a stack was left, and where it is when the thread comes back.
constexpr std::uint64_t most_popped_away = 256;

constexpr std::uint64_t rt_sigreturn = 15;

bool is_prefix(std::uint8_t byte) {
  return byte == 0x66 || byte == 0xf2 || byte == 0xf3 || byte == 0x2e || byte == 0x3e || byte == 0x64 || byte == 0x65;
}

}  // namespace

InstructionKind kind_of(std::span<const std::byte> bytes) {
  std::size_t at = 0;
  const auto next = [&] { return at < bytes.size() ? static_cast<std::uint8_t>(bytes[at++]) : std::uint8_t{0}; };
  std::uint8_t opcode = next();
  while (is_prefix(opcode)) opcode = next();
  if ((opcode & 0xf0U) == 0x40) opcode = next();  // REX
  if (opcode == 0xe8) return InstructionKind::Call;
  if (opcode == 0xc2 || opcode == 0xc3) return InstructionKind::Return;
  if (opcode == 0x0f && next() == 0x05) return InstructionKind::SystemCall;
  if (opcode != 0xff) return InstructionKind::Other;
  switch (next() >> 3U & 7U) {  // the operation in ModRM
    case 2:
      return InstructionKind::Call;
    case 4:
      return InstructionKind::IndirectJump;
    default:
      return InstructionKind::Other;
  }
}

void ShadowStack::forget() {
  calls_.clear();
  others_.clear();
  top_ = 0;
}

std::optional<Call> ShadowStack::drop_returned(std::uint64_t stack_pointer) {
  std::optional<Call> last;
  while (!calls_.empty() && calls_.back().call.cfa <= stack_pointer) {
    last = calls_.back().call;
    calls_.pop_back();
  }
  return last;
}

void ShadowStack::change_stack(std::uint64_t before, std::uint64_t now) {
  others_.push_back({before, top_, std::move(calls_)});
  calls_.clear();
  top_ = now;
  const auto found = std::ranges::find_if(others_, [&](const Other& other) {
    return other.stack_pointer <= now && now - other.stack_pointer < most_popped_away && now <= other.top;
  });
  if (found != others_.end()) {
    calls_ = std::move(found->calls);
    top_ = found->top;
  }
  // What else is known of this stack is of another use of it.
  std::erase_if(others_, [&](const Other& other) { return other.stack_pointer <= now && now <= other.top; });
  if (others_.size() > most_other_stacks) others_.erase(others_.begin());
}

void ShadowStack::follow(const SteppedThread& thread, const Registers& before, InstructionKind kind,
                         bool function_has_changed) {
  const Registers& now = thread.registers();
  if (now.rip == before.rip && now.rsp == before.rsp) return;  // a signal came first, or a repeated instruction
  if (top_ == 0) top_ = before.rsp;
  if (now.rsp - before.rsp + most_in_one_step > 2 * most_in_one_step) {
    // An exception or longjmp stays on its stack, however far it goes.
    if (now.rsp < before.rsp || now.rsp > top_) change_stack(before.rsp, now.rsp);
  }
  top_ = std::max<std::uint64_t>(top_, now.rsp);
  if (kind == InstructionKind::Call && now.rsp == before.rsp - 8) {
    const auto return_address = thread.word(now.rsp);
    // A call of the next instruction only asks for its address.
    if (return_address && *return_address != now.rip) calls_.push_back({{before.rsp, *return_address, before.rbp}});
    return;
  }
  const auto dropped = drop_returned(now.rsp);
  if (calls_.empty()) return;
  auto& popped = calls_.back().popped;
  if (kind == InstructionKind::Return || (kind == InstructionKind::SystemCall && before.rax == rt_sigreturn)) {
    popped.reset();
  } else if (dropped) {
    popped = dropped;
  }
  if (!popped) return;
  if (now.rsp == popped->cfa - 8 && thread.word(now.rsp) == popped->return_address) {
    const Call restored = *popped;  // as caml_c_call does, which only looks at it
    popped.reset();
    calls_.push_back({restored});
  } else if (kind == InstructionKind::IndirectJump && (now.rip == popped->return_address || function_has_changed)) {
    popped.reset();
  }
}

bool ShadowStack::follow_signal(const SteppedThread& thread, const Registers& before) {
  // The kernel's frame: return address, then ucontext_t with the registers.
  constexpr std::uint64_t rsp_at = 8 + 40 + 15 * 8, rip_at = rsp_at + 8;
  const Registers& now = thread.registers();
  const auto return_address = thread.word(now.rsp), interrupted = thread.word(now.rsp + rip_at);
  if (now.rsp == before.rsp || thread.word(now.rsp + rsp_at) != before.rsp || !return_address || !interrupted)
    return false;  // ignored, or the default action
  if (now.rsp > before.rsp || before.rsp - now.rsp > most_in_one_step) {
    change_stack(before.rsp, now.rsp + 8);
  } else {
    // The trampoline that the handler returns to: its caller is what was interrupted.
    calls_.push_back({{before.rsp, *interrupted, before.rbp}});
  }
  calls_.push_back({{now.rsp + 8, *return_address, now.rbp}});
  return true;
}

}  // namespace sframe_gen::stepping
