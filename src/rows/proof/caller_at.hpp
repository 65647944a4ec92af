#pragma once

#include <cstdint>
#include <optional>

#include "elf/image.hpp"
#include "rows/proof/decoder.hpp"
#include "support/range.hpp"

/// Where the caller of one x86-64 frame is, by the few instructions that decide it: for code that a proof of the whole
/// file (synthesis.hpp) leaves out, or that is too large for one. Instructions are evidence only where every byte of
/// them is understood.
namespace sframe_gen::rows::proof {

/// Offsets are bytes from the value of `base` at the PC.
struct CallerPlace {
  RegisterNumber base = rsp;        ///< rsp or rbp
  std::int64_t return_address = 0;  ///< where it is stored
  std::int64_t stack_pointer = 8;   ///< what rsp is once the function has returned
  bool frame_pointer_is_known = true;
  std::optional<std::int64_t> frame_pointer;  ///< where the caller's rbp is stored; none: rbp has it
  friend bool operator==(const CallerPlace&, const CallerPlace&) = default;
};

/// By what follows: from the instruction at `pc`, which runs next, nothing but straight code leads to a return. What it
/// takes from the stack is where the thread goes on. At most 64 instructions.
std::optional<CallerPlace> caller_by_return(const elf::Image& image, const Decoder& decoder, std::uint64_t pc);

/// What holds on every way from a function's begin to an instruction.
struct WayIn {
  std::optional<CallerPlace> caller;
  bool has_callers_frame_pointer = false;  ///< rbp leads past the caller
};

/// By what was before: on every way from the function's begin to the instruction at `pc`, which runs next, rsp has
/// moved by the same number of bytes, or rbp has been set so far from where rsp was. `function`: its code, which is
/// entered at its begin alone, with the return address at rsp. None as well if a byte of it is no instruction, after a
/// call without a frame pointer, in functions of more than 16 KiB, and if a jump with a frame goes to a computed
/// address while the function has one in the file.
WayIn way_in(const elf::Image& image, const Decoder& decoder, const Range& function, std::uint64_t pc);

/// Whether the instruction at `pc` is of the straight code from the file's entry point to its first call. Nothing has
/// called it. At most 64 bytes.
bool is_before_first_call(const elf::Image& image, const Decoder& decoder, std::uint64_t pc);

}  // namespace sframe_gen::rows::proof
