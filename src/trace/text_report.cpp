#include "trace/text_report.hpp"

#include <array>
#include <cstdio>

#include "support/text.hpp"

namespace sframe_gen::trace {

namespace {

std::string padded_hex(std::uint64_t value, const char* format) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), format, static_cast<unsigned long long>(value));
  return text.data();
}

std::string function_text(const FunctionPlace& function, const char* unknown) {
  return function.name.empty() ? unknown : function.name + "+" + hex(function.offset);
}

void write_cut(std::ostream& out, const Cut& cut) {
  out << "    cut: " << text_of(cut) << " (" << cut.place << ")\n";
}

}  // namespace

void write_process(std::ostream& out, int pid, const std::string& name) {
  out << "PID " << pid;
  if (!name.empty()) out << " - " << name;
  out << '\n';
}

void write_thread(std::ostream& out, int thread, const std::string& name, int signal) {
  out << "TID " << thread;
  if (!name.empty()) out << " - " << name;
  if (signal != 0) out << " (signal " << signal << ')';
  out << '\n';
}

void write_stack(std::ostream& out, AddressSpace& space, const Stack& stack, const std::optional<Cut>& cut) {
  std::size_t number = 0;
  for (const Frame& frame : stack.frames) {
    const NamedFrame named = trace::named(space, frame);
    const std::string counted = "#" + std::to_string(number++);
    out << counted << std::string(counted.size() < 4 ? 4 - counted.size() : 1, ' ') << padded_hex(frame.pc, "0x%016llx")
        << ' ' << function_text(named.function, "?");
    if (!named.file.empty()) out << " - " << named.file << '+' << hex(named.address);
    out << '\n';
  }
  if (cut) write_cut(out, *cut);
}

void write_sample(std::ostream& out, AddressSpace& space, const KernelNames& kernel, const Sample& sample,
                  const std::optional<Cut>& cut) {
  constexpr std::uint64_t ns_in_s = 1'000'000'000, ns_in_us = 1000;
  out << sample.name << ' ' << sample.thread << ' ' << sample.time / ns_in_s << '.'
      << padded_hex(sample.time % ns_in_s / ns_in_us, "%06llu") << ":\n";
  const auto write = [&](std::uint64_t pc, const std::string& function, const std::string& file) {
    out << padded_hex(pc, "%16llx ") << function << " (" << file << ")\n";
  };
  for (const std::uint64_t pc : sample.kernel) {
    const std::string name = kernel.name_at(pc);
    write(pc, name.empty() ? "[unknown]" : name, "[kernel]");
  }
  for (const Frame& frame : sample.user.frames) {
    const NamedFrame named = trace::named(space, frame);
    write(named.pc, function_text(named.function, "[unknown]"), named.file.empty() ? "[unknown]" : named.file);
  }
  if (cut) write_cut(out, *cut);
  out << '\n';
}

}  // namespace sframe_gen::trace
