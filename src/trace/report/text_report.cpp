#include "trace/report/text_report.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "support/text.hpp"
#include "trace/walk/comparison.hpp"

namespace sframe_gen::trace {

namespace {

/// `value` in so many digits at least, with what fills up in front of it.
std::string_view padded(std::uint64_t value, int base, std::size_t width, char fill, std::array<char, 32>& text) {
  const auto end = std::to_chars(text.data() + width, text.data() + text.size(), value, base).ptr;
  const auto digits = static_cast<std::size_t>(end - text.data()) - width;
  const std::size_t missing = width - std::min(width, digits);
  std::fill_n(text.data() + width - missing, missing, fill);
  return {text.data() + width - missing, missing + digits};
}

constexpr int hexadecimal = 16, decimal = 10;
constexpr std::size_t address_digits = 16;

/// Many pieces go into one string faster than into a stream.
void append_offset(std::string& line, std::uint64_t offset) {
  std::array<char, 32> text{};
  line.append("+0x").append(padded(offset, hexadecimal, 1, '0', text));
}

void append_function(std::string& line, const NamedFrame& named, const char* unknown) {
  if (named.function.empty()) {
    line += unknown;
  } else {
    line += named.function;
    append_offset(line, named.offset);
  }
}

std::string text_of_place(const NamedFrame& named) {
  std::array<char, 32> text{};
  std::string line("0x");
  line.append(padded(named.pc, hexadecimal, address_digits, '0', text)) += ' ';
  append_function(line, named, "?");
  if (!named.file.empty()) {
    line.append(" - ").append(named.file);
    append_offset(line, named.address);
  }
  return line;
}

/// Where DWARF leads elsewhere, or not as far.
void write_comparison(std::ostream& out, AddressSpace& space, const Comparison& comparison) {
  if (comparison.match == Match::Different) {
    out << "    differs: frame " << comparison.frame << " is ";
    if (comparison.dwarf_frame) {
      out << text_of_place(named(space, *comparison.dwarf_frame));
    } else {
      out << "not there";
    }
    out << " by DWARF\n";
  }
  if (!comparison.dwarf_cut.empty()) {
    out << "    cut by DWARF at frame " << comparison.dwarf_last << ": " << comparison.dwarf_cut << '\n';
  }
}

void write_end(std::ostream& out, AddressSpace& space, const Stack& stack, const std::optional<Cut>& cut) {
  if (cut) out << "    cut: " << text_of(*cut) << " (" << cut->place << ")\n";
  if (const auto comparison = comparison_of(stack)) write_comparison(out, space, *comparison);
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
    const std::string counted = "#" + std::to_string(number++);
    out << counted << std::string(counted.size() < 4 ? 4 - counted.size() : 1, ' ')
        << text_of_place(named(space, frame)) << '\n';
  }
  write_end(out, space, stack, cut);
}

void write_sample(std::ostream& out, AddressSpace& space, KernelNames& kernel, const Sample& sample,
                  const std::optional<Cut>& cut) {
  constexpr std::uint64_t ns_in_s = 1'000'000'000, ns_in_us = 1000;
  std::array<char, 32> text{};
  out << sample.name << ' ' << sample.thread << ' ' << sample.time / ns_in_s << '.'
      << padded(sample.time % ns_in_s / ns_in_us, decimal, 6, '0', text) << ":\n";
  std::string lines;
  for (const std::uint64_t pc : sample.kernel) {
    const std::string_view name = kernel.name_at(pc);
    lines.append(padded(pc, hexadecimal, address_digits, ' ', text)) += ' ';
    lines.append(name.empty() ? "[unknown]" : name).append(" ([kernel])\n");
  }
  for (const Frame& frame : sample.user.frames) {
    const NamedFrame named = trace::named(space, frame);
    lines.append(padded(named.pc, hexadecimal, address_digits, ' ', text)) += ' ';
    append_function(lines, named, "[unknown]");
    lines.append(" (").append(named.file.empty() ? "[unknown]" : named.file).append(")\n");
  }
  out << lines;
  write_end(out, space, sample.user, cut);
  out << '\n';
}

}  // namespace sframe_gen::trace
