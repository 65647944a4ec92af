#pragma once

#include <sys/ptrace.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <optional>

#include "sframe_gen/unwind.hpp"

/// What ptrace(2) asks of and says of a thread, for those who stop threads.
namespace sframe_gen::trace {

/// As ptrace() itself, whose last two arguments are pointers or numbers.
long ask_ptrace(__ptrace_request request, int thread, std::uintptr_t address, std::uintptr_t data);

/// Of a thread that stands still. None: it is of another machine than this program.
std::optional<unwind::Registers> registers_of(int thread);

/// Of a thread that stands still because a signal has come: what the signal says of itself.
std::optional<siginfo_t> signal_of(int thread);

/// Why there is nothing to walk.
inline constexpr const char* other_machine = "is of another machine than this program";
inline constexpr const char* waits_in_kernel = "does not stop, as it waits in the kernel";

/// A thread that waits for a device, or for its vfork, does not stop before it is answered.
inline constexpr std::chrono::milliseconds patience{500};
inline constexpr std::chrono::microseconds between_looks{100};

/// Whether it has ended and is kept for somebody to wait for it: the first of a process's until the others have ended.
bool is_zombie(int thread);

/// PTRACE_EVENT_… of a stop, as waitpid() says it; 0: a signal has come, which must not be lost.
int event_of(int status);

}  // namespace sframe_gen::trace
