#pragma once

namespace sframe_gen::backtrace {

/// Finds the functions of libunwind that walk step by step. For the constructor: dlsym() takes locks, and much stack.
void find_libunwinds_steps();

}  // namespace sframe_gen::backtrace
