#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "code/step/stepped_thread.hpp"

namespace sframe_gen::stepping {

/// What an instruction does that a shadow stack must know of.
enum class InstructionKind : std::uint8_t { Other, Call, Return, IndirectJump, SystemCall };

/// Returns the kind of the instruction that begins with these bytes, of which 16 or those up to the page's end are
/// given.
InstructionKind kind_of(std::span<const std::byte> bytes);

/// A call that has not returned, as the call instruction left it.
struct Call {
  std::uint64_t cfa = 0;             ///< SP before the call
  std::uint64_t return_address = 0;  ///< which the call has stored at cfa - 8
  std::uint64_t frame_pointer = 0;   ///< rbp at the call
};

/// The calls of a thread that have not returned, by what call and return instructions have done and never by tables.
///
/// What is not known is not said: functions that were called before stepping began, code after a callee has dropped its
/// own return address, and stacks that the thread has changed to.
class ShadowStack {
 public:
  /// Call after each step. `function_has_changed`: the PC is known to be in another function than before.
  void follow(const SteppedThread& thread, const Registers& before, InstructionKind kind, bool function_has_changed);
  /// Call before that after a step that may have begun a signal handler. Whether it has; then there is no more to do.
  bool follow_signal(const SteppedThread& thread, const Registers& before);
  /// The thread has run freely, or another program.
  void forget();

  /// The call whose callee executes now; null if that is not known.
  const Call* current() const { return calls_.empty() || calls_.back().popped ? nullptr : &calls_.back().call; }

 private:
  struct Entry {
    Call call;
    /// The last call from here, if its return address was taken from the stack otherwise than by a return: what
    /// executes may be that callee's code still, which may put the address back.
    std::optional<Call> popped = std::nullopt;
  };
  /// A stack that the thread is not on.
  struct Other {
    std::uint64_t stack_pointer, top;
    std::vector<Entry> calls;
  };

  void change_stack(std::uint64_t before, std::uint64_t now);
  /// Drops what is below SP; returns the last of them.
  std::optional<Call> drop_returned(std::uint64_t stack_pointer);

  std::vector<Entry> calls_;
  std::vector<Other> others_;
  std::uint64_t top_ = 0;  ///< the highest SP of this stack
};

}  // namespace sframe_gen::stepping
