#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "elf/go_table.hpp"
#include "elf/image.hpp"

namespace sframe_gen::trace::walk {

/// What the instructions of Go's compiler tell of frames that no row leads out of. x86-64.
class GoCode {
 public:
  /// Null: the file is not Go's, or for another machine.
  static std::unique_ptr<GoCode> of(const elf::Image& image);

  /// Returns whether the function that `pc` is in has set its frame pointer before that.
  bool has_set_frame_pointer(std::uint64_t pc) const;

  /// Returns where runtime.systemstack, which `pc` is in, returns to, if the code shows it. It calls a function that is
  /// given to it, on another stack, and leaves the frame pointer as it is. So frame pointers lead from that function
  /// past the one that gave it, to where that returns: `next`. The place is known if only one call is given the
  /// function that `called` is in, of those in functions that may return to `next`. `pc` and `called` are addresses of
  /// instructions.
  std::optional<std::uint64_t> return_to_other_stack(std::uint64_t pc, std::uint64_t called, std::uint64_t next);

  /// Returns where the function around `pc`, which has no frame of its own, returns to, if the code shows it: the
  /// function that the call before `next` calls is its caller then. It is known if that function has one call of it,
  /// and calls nothing else without a frame that calls it.
  std::optional<std::uint64_t> return_to_caller_of(std::uint64_t pc, std::uint64_t next) const;

  /// Returns whether the stack ends with the call at `pc`: what runtime.mcall calls, on another stack, never comes
  /// back. The goroutine that called it may run elsewhere by then, and its stack have other frames.
  bool never_returns_to(std::uint64_t pc) const;

  /// Returns whether `pc` may be where the function around `callee` returns to: after a call of that function, or of
  /// one that is computed.
  bool may_return_from(std::uint64_t callee, std::uint64_t pc) const;

 private:
  struct Call {
    std::uint64_t target, return_address;
  };

  GoCode(const elf::Image& image, elf::GoTable table) : image_(image), table_(std::move(table)) {}
  void find_calls();
  bool leads_to(std::uint64_t target, std::uint64_t start) const;
  std::vector<Call> calls_in(const elf::GoTable::Entry& entry) const;
  bool gives(std::uint64_t begin, std::uint64_t end, std::uint64_t function) const;

  const elf::Image& image_;
  elf::GoTable table_;
  bool calls_are_known_ = false;
  std::vector<Call> calls_;  ///< of systemstack, by return address
};

}  // namespace sframe_gen::trace::walk
