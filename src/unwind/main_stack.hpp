#pragma once

#include "unwind/stack_memory.hpp"

namespace sframe_gen::unwind {

/// The mapping of the first thread's stack as it is now. Nothing, where /proc does not say.
MemoryRange find_main_stack();

}  // namespace sframe_gen::unwind
