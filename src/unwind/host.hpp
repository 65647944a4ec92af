#pragma once

#include "sframe/format.hpp"
#include "sframe_gen/unwind.hpp"
#include "support/endian.hpp"
#include "unwind/stack_memory.hpp"

/// The machine that this runs on.
namespace sframe_gen::unwind {

#if defined(__x86_64__)
inline constexpr sframe::AbiTraits host_abi = sframe::amd64_traits;
#elif defined(__aarch64__)
inline constexpr sframe::AbiTraits host_abi =
    host_endian == Endian::Big ? sframe::aarch64_big_traits : sframe::aarch64_traits;
#elif defined(__s390x__)
inline constexpr sframe::AbiTraits host_abi = sframe::s390x_traits;
#else
#error "walking the own stack is for x86-64, aarch64 and s390x"
#endif

/// Reads the registers of what a signal has interrupted.
void read_ucontext(const void* ucontext, Registers& registers);

/// Returns the stack between a handler and what it has interrupted, if they have the same one. It is readable: the
/// kernel has written below it. `here`: this_frame() of a function that the handler has called.
Range known_stack(const void* ucontext, const Registers& interrupted, std::uint64_t here);

/// If the instruction at the PC is the system call that a signal's handler returns to, puts the interrupted registers
/// into `registers`, and leaves these as they are otherwise. Reads nothing that cannot be read.
bool return_from_signal(StackMemory& memory, Registers& registers);

[[gnu::always_inline]] inline std::uint64_t this_frame() {
  return reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
}

}  // namespace sframe_gen::unwind

/// What sframe_backtrace() comes to: the registers of its caller, as they were at the call.
extern "C" int sframe_gen_backtrace_from(void** buffer, int size, std::uint64_t sp, std::uint64_t pc, std::uint64_t fp)
    __attribute__((visibility("hidden")));
