#pragma once

#include <cstdint>

namespace sframe_gen::backtrace {

/// Returns the CFA of the outermost frame, whose SP and return address are these, where its call frame information is
/// as that of _start() and clone() of glibc: nothing but SP + 8. 0: it is another, or cannot be had. Rows of outermost
/// frames have no CFA, and a walk of the original to it would cost as much as all that rows save: Rust asks for it.
std::uint64_t cfa_of_outermost(std::uint64_t pc, std::uint64_t sp);

}  // namespace sframe_gen::backtrace
