#include "trace/report/text_report.hpp"

#include "trace/report/frame_text.hpp"
#include "trace/walk/comparison.hpp"

namespace sframe_gen::trace {

namespace {

std::string text_of_place(const NamedFrame& named) {
  std::string line("0x");
  append_hex(line, named.pc, address_digits, '0');
  line += ' ';
  append_function(line, named, "?");
  if (!named.file.empty()) {
    line.append(" - ").append(named.file);
    append_offset(line, named.address);
  }
  return line;
}

/// Where DWARF leads elsewhere, or not as far.
void write_comparison(std::ostream& out, const Comparison& comparison) {
  if (comparison.match == Match::Different) {
    out << "    differs: frame " << comparison.frame << " is ";
    if (comparison.dwarf_frame) {
      out << text_of_place(named(*comparison.dwarf_frame));
    } else {
      out << "not there";
    }
    out << " by DWARF\n";
  }
  if (!comparison.dwarf_cut.empty()) {
    out << "    cut by DWARF at frame " << comparison.dwarf_last << ": " << comparison.dwarf_cut << '\n';
  }
}

}  // namespace

void write_end(std::ostream& out, const Stack& stack, const std::optional<Cut>& cut) {
  if (cut) out << "    cut: " << text_of(*cut) << " (" << cut->place << ")\n";
  if (const auto comparison = comparison_of(stack)) write_comparison(out, *comparison);
}

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

void write_stack(std::ostream& out, const Stack& stack, const std::optional<Cut>& cut) {
  std::size_t number = 0;
  for (const Frame& frame : stack.frames) {
    const std::string counted = "#" + std::to_string(number++);
    out << counted << std::string(counted.size() < 4 ? 4 - counted.size() : 1, ' ') << text_of_place(named(frame))
        << '\n';
  }
  write_end(out, stack, cut);
}

}  // namespace sframe_gen::trace
