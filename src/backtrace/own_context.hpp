#pragma once

#include <unwind.h>

#include <cstdint>

#include "sframe_gen/unwind.h"

namespace sframe_gen::backtrace {

/// Returns the CFA of the outermost frame, whose SP and return address are these, where its call frame information is
/// as that of _start() and clone() of glibc: nothing but SP + 8. 0: it is another, or cannot be had. Rows of outermost
/// frames have no CFA, and a walk of the original to it would cost as much as all that rows save: Rust asks for it.
std::uint64_t cfa_of_outermost(std::uint64_t pc, std::uint64_t sp);

/// What a callback of _Unwind_Backtrace() gets of a frame that rows have found. The functions that read a context know
/// it by its first words: a pointer, a register or a part of a structure in the context of another unwinder is not
/// these 128 bits.
struct OwnContext {
  static constexpr std::uint64_t first_mark = 0x8d2f61c70be94a35, second_mark = 0x36b91d04f7a8c25e;

  std::uint64_t marks[2]{first_mark, second_mark};
  std::uint64_t pc = 0;
  std::uint64_t sp = 0;  ///< which is the CFA of the frame that it has called; 0: rows do not say
  bool is_exact = false;
  std::uint32_t number = 0;                  ///< of the frame, from the caller of _Unwind_Backtrace(), which is 0
  std::uint64_t last_pc = 0, last_sp = 0;    ///< of the outermost frame, if `pc` is 0
  std::uint64_t first_pc = 0, first_sp = 0;  ///< of that caller
};

/// Whether a context is ours. Any other one has at least as many bytes.
inline bool is_own(const _Unwind_Context* context) {
  const auto* const own = reinterpret_cast<const OwnContext*>(context);
  return own->marks[0] == OwnContext::first_mark && own->marks[1] == OwnContext::second_mark;
}

/// Calls `callback` with what the original _Unwind_Backtrace() says of the frames from `context`'s on, and returns what
/// that returns. It walks from here, where the stack has more frames than at the call that is being answered.
_Unwind_Reason_Code walk_on(const OwnContext& context, _Unwind_Trace_Fn callback, void* argument);

}  // namespace sframe_gen::backtrace
