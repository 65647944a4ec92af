#pragma once

#include <cstdint>

#include "sframe_gen/unwind.h"
#include "sframe_gen/unwind.hpp"

/// Returns the PCs in `buffer`, from the frame with these registers outwards. The entry in assembly jumps here, with
/// what its caller's registers were at the call.
extern "C" [[gnu::visibility("hidden")]] int sframe_gen_backtrace_from(void** buffer, int size, std::uint64_t sp,
                                                                       std::uint64_t pc, std::uint64_t fp);

namespace sframe_gen::unwind {

/// Returns the PCs in `buffer`, from what a signal has interrupted outwards. `ucontext`: what its handler got.
int walk_interrupted(void** buffer, int size, const void* ucontext, Stop& stop);

/// Return the PCs or the frames from the one in `registers` outwards; these become the last frame's. The walk pauses
/// after a caller that was interrupted: `stop` is Stepped.
int walk_from(void** buffer, int size, Registers& registers, Stop& stop);
int walk_from(sframe_unwind_frame* frames, int size, Registers& registers, Stop& stop);

}  // namespace sframe_gen::unwind
