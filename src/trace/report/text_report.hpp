#pragma once

#include <ostream>
#include <string>

#include "trace/recorded/kernel_names.hpp"
#include "trace/recorded/recording.hpp"
#include "trace/report/named_frame.hpp"

/// Stacks as people know them: from pstack and eu-stack those of a process, from `perf script` those of a recording.
namespace sframe_gen::trace {

/// "PID 4711 - bash"
void write_process(std::ostream& out, int pid, const std::string& name);
/// "TID 4711 - bash (signal 11)"
void write_thread(std::ostream& out, int thread, const std::string& name, int signal);
/// "#0  0x00007f3c5a0d1c5a read+0x1a - /lib/libc.so.6+0xd1c5a" for each frame, and what cut the stack.
void write_stack(std::ostream& out, AddressSpace& space, const Stack& stack, const std::optional<Cut>& cut);

/// "bash 4711 12.345678:", and "    7f3c5a0d1c5a read+0x1a (/lib/libc.so.6)" for each frame.
void write_sample(std::ostream& out, AddressSpace& space, KernelNames& kernel, const Sample& sample,
                  const std::optional<Cut>& cut);

}  // namespace sframe_gen::trace
