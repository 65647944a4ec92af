#pragma once

#include <ostream>
#include <string>

#include "trace/report/named_frame.hpp"

/// Stacks of processes, as people know them from pstack and eu-stack.
namespace sframe_gen::trace {

/// "PID 4711 - bash"
void write_process(std::ostream& out, int pid, const std::string& name);
/// "TID 4711 - bash (signal 11)"
void write_thread(std::ostream& out, int thread, const std::string& name, int signal);
/// "#0  0x00007f3c5a0d1c5a read+0x1a - /lib/libc.so.6+0xd1c5a" for each frame, and what cut the stack.
void write_stack(std::ostream& out, const Stack& stack, const std::optional<Cut>& cut);

/// What cut the stack, and where DWARF leads elsewhere.
void write_end(std::ostream& out, const Stack& stack, const std::optional<Cut>& cut);

}  // namespace sframe_gen::trace
