// The way of a frame to its names, which all reports go by named():
//
//     named                   here: asks what holds the PC, of which there are three kinds
//       JitCode                 trace/walk/jit_dump.hpp: code of a just-in-time compiler, by its jitdump
//       PerfMaps                trace/walk/perf_map.hpp: the same by /tmp/perf-PID.map
//       CodeFile                trace/walk/code_file.hpp: a file
//         function_at             trace/walk/code_file.hpp: the symbol, and its name for people
//           find_debug_file         trace/walk/symbol_files.hpp: its file with symbols
//           SymbolNames             elf/symbol_names.hpp: the symbol that holds an address
//           demangled_for_people    trace/walk/demangle.hpp: in a process of its own, as names may take for ever
//         source_at               trace/walk/code_file.hpp: inlined calls and lines, if they are wanted
//           SourceNames             trace/walk/source_names.hpp: the answers, fit to be printed
//             SourcePlaces            trace/dwarf/source_places.hpp: the compilation unit of an address
//               DebugFile               trace/dwarf/debug_sections.hpp: sections, units; trace/dwarf/entry.hpp: entries
//               Calls                   trace/dwarf/calls.hpp: functions and inlined calls of a unit
//               LineTable               trace/dwarf/line_table.hpp: its lines
//
// The kernel's frames are named by KernelNames (trace/recorded/kernel_names.hpp).

#include "trace/report/text_report.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "support/hash.hpp"
#include "support/text.hpp"
#include "trace/walk/stack.hpp"

namespace sframe_gen::trace::report {

namespace {

/// perf calls the file of such code by the name of the map as well.
void name_by_map(walk::PerfMaps::OfProcess& map, const walk::Frame& frame, NamedFrame& named) {
  const walk::FunctionPlace function = map.function_at(frame.instruction());
  if (function.name.empty()) return;
  named.function = function.name;
  named.offset = function.offset + (frame.pc - frame.instruction());
  named.file = map.path();
}

}  // namespace

NamedFrame named(const walk::Frame& frame) {
  NamedFrame named{.pc = frame.pc, .function = {}, .file = {}};
  if (frame.location == nullptr) return named;
  const walk::Location& location = *frame.location;
  const std::uint64_t behind_call = frame.pc - frame.instruction();
  named.file = location.name();
  named.address = frame.pc - location.bias;
  if (walk::JitCode* const jit_code = location.of->jit_code.get()) {
    named.function = jit_code->name_of(location.function);
    if (!named.function.empty()) named.offset = named.address - walk::jit_code_address;
    return named;
  }
  walk::CodeFile* const file = location.of->opened.file.get();
  if (file == nullptr) {
    if (location.of->opened.names) name_by_map(*location.of->opened.names, frame, named);
    return named;
  }
  std::uint64_t looked_up = named.address - behind_call;
  walk::FunctionPlace function = file->function_at(looked_up);
  named.offset = function.offset + behind_call;
  // What handlers of signals return to is no call's end, but a function's begin.
  if (function.name.empty()) {
    looked_up = named.address;
    function = file->function_at(looked_up);
    named.offset = function.offset;
  }
  named.function = function.name;
  named.symbol = function.symbol;
  const walk::SourceChain& source = file->source_at(looked_up);
  named.inlined = source.inlined;
  named.place = source.place;
  return named;
}

std::string text_of_left_out(const walk::Frame& frame) {
  return frame.left_out == walk::Frame::some ? "[frames left out]"
                                             : "[" + count_of(frame.left_out, "frame") + " left out]";
}

std::string_view short_name(std::string_view file) {
  return file.substr(file.rfind('/') + 1);
}

namespace {

// Many pieces go into one string faster than into a stream.

constexpr std::size_t address_digits = 16;

/// In `digits` at least, filled up with `fill` in front.
void append_number(std::string& text, std::uint64_t value, int base, std::size_t digits, char fill) {
  std::array<char, 32> number{};
  const char* const end = std::to_chars(number.data(), number.data() + number.size(), value, base).ptr;
  const auto size = static_cast<std::size_t>(end - number.data());
  text.append(digits - std::min(digits, size), fill).append(number.data(), size);
}

void append_hex(std::string& text, std::uint64_t value, std::size_t digits, char fill) {
  constexpr int base = 16;
  append_number(text, value, base, digits, fill);
}

void append_decimal(std::string& text, std::uint64_t value, std::size_t digits = 1, char fill = '0') {
  constexpr int base = 10;
  append_number(text, value, base, digits, fill);
}

/// "+0x1a"
void append_offset(std::string& text, std::uint64_t offset) {
  text += "+0x";
  append_hex(text, offset, 1, '0');
}

/// "read+0x1a", or else what stands for it.
void append_function(std::string& text, const NamedFrame& named, const char* unknown) {
  if (named.function.empty()) {
    text += unknown;
  } else {
    text += named.function;
    append_offset(text, named.offset);
  }
}

constexpr std::string_view frame_pointer_mark = " [by frame pointer]", inlined_mark = " (inlined)\n";
constexpr std::string_view code_mark = " [by code]", earlier_mark = " [from an earlier sample]";

/// How a frame was found, if not by the sample's memory and rows.
void append_marks(std::string& text, const walk::Frame& frame) {
  if (frame.by_frame_pointer) text += frame_pointer_mark;
  if (frame.by_code) text += code_mark;
  if (frame.from_earlier_sample) text += earlier_mark;
}

/// "  /src/io.c:12" on a line of its own; nothing if it is not known, or not wanted.
void append_source_line(std::string& text, std::string_view indent, const walk::SourceLine& place) {
  if (place.file.empty()) return;
  text.append(indent).append(place.file) += ':';
  if (place.line == 0) {
    text += '?';
  } else {
    append_decimal(text, place.line);
  }
  text += '\n';
}

/// "0x00007f3c5a0d1c5a read+0x1a - /lib/libc.so.6+0xd1c5a"
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
void write_comparison(std::ostream& out, const walk::Comparison& comparison, std::string_view indent) {
  if (comparison.match == walk::Match::Different) {
    out << indent << "differs: frame " << comparison.frame << " is ";
    if (comparison.dwarf_frame) {
      out << text_of_place(named(*comparison.dwarf_frame));
    } else {
      out << "not there";
    }
    out << " by DWARF\n";
  }
  if (!comparison.dwarf_cut.empty()) {
    out << indent << "cut by DWARF at frame " << comparison.dwarf_last << ": " << comparison.dwarf_cut << '\n';
  }
}

/// What cut the stack, and where DWARF leads elsewhere.
void write_end(std::ostream& out, const walk::Stack& stack, const std::optional<walk::StackEnd>& cut,
               std::string_view indent) {
  if (cut)
    out << indent << "cut: " << walk::text_of(*cut) << (cut->place.empty() ? "" : " (" + cut->place + ")") << '\n';
  if (const auto comparison = walk::comparison_of(stack)) write_comparison(out, *comparison, indent);
}

constexpr std::size_t remembered = 8192, most_kept = std::size_t{1} << 19U;
/// Names of templates can have kilobytes.
constexpr std::size_t longest_remembered = 1024;

bool is_same(const walk::Frame& frame, const walk::Frame& other) {
  return frame.location == other.location && frame.pc == other.pc && frame.pc_is_exact == other.pc_is_exact &&
         frame.by_frame_pointer == other.by_frame_pointer && frame.by_code == other.by_code &&
         frame.from_earlier_sample == other.from_earlier_sample;
}

}  // namespace

SampleText::SampleText(std::ostream& out, recorded::KernelNames& kernel)
    : out_(out), kernel_(kernel), lines_(remembered) {}

void SampleText::add(const recorded::Sample& sample, const recorded::SampledEvent& event,
                     const std::optional<walk::StackEnd>& cut) {
  add_head(sample, event);
  for (const std::uint64_t pc : sample.kernel) add_kernel_frame(pc);
  for (const walk::Frame& frame : sample.user.frames) add_frame(frame);
  if (cut || sample.user.by_dwarf) {
    std::ostringstream end;
    write_end(end, sample.user, cut, "# ");
    text_ += end.view();
  }
  text_ += '\n';
  if (text_.size() >= most_kept) finish();
}

void SampleText::finish() {
  out_.write(text_.data(), static_cast<std::streamsize>(text_.size()));
  text_.clear();
}

void SampleText::add_head(const recorded::Sample& sample, const recorded::SampledEvent& event) {
  constexpr std::uint64_t ns_in_s = 1'000'000'000, ns_in_us = 1000;
  constexpr std::size_t us_digits = 6;
  text_.append(sample.name) += ' ';
  text_.append(std::to_string(sample.thread)) += ' ';
  append_decimal(text_, sample.time / ns_in_s);
  text_ += '.';
  append_decimal(text_, sample.time % ns_in_s / ns_in_us, us_digits);
  constexpr std::size_t period_width = 10;
  text_ += ": ";
  append_decimal(text_, sample.period, period_width, ' ');
  text_.append(" ").append(event.name).append(":\n");
}

SampleText::Line& SampleText::line_for(const walk::Frame& frame) {
  const auto location = reinterpret_cast<std::uintptr_t>(frame.location);
  return lines_[chained(mixed(frame.pc), location + (frame.pc_is_exact ? 1 : 0)) % remembered];
}

void SampleText::add_kernel_frame(std::uint64_t pc) {
  const walk::Frame frame{pc, true, &in_kernel_};
  Line& line = line_for(frame);
  if (!is_same(line.frame, frame)) {
    const std::string_view name = kernel_.name_at(pc);
    line = {frame, {}};
    append_hex(line.text, pc, address_digits, ' ');
    line.text += ' ';
    line.text.append(name.empty() ? "[unknown]" : name).append(" ([kernel.kallsyms])\n");
  }
  text_ += line.text;
}

void SampleText::add_frame(const walk::Frame& frame) {
  Line& line = line_for(frame);
  if (frame.location != nullptr && is_same(line.frame, frame)) {
    text_ += line.text;
    return;
  }
  const std::size_t begin = text_.size();
  if (frame.left_out != 0) {
    append_hex(text_, 0, address_digits, ' ');
    text_.append(" ").append(text_of_left_out(frame)).append(" ([unknown])\n");
    return;
  }
  const NamedFrame named = trace::report::named(frame);
  constexpr std::string_view indent = "  ";
  for (const walk::InlinedCall& call : named.inlined) {
    append_hex(text_, named.pc, address_digits, ' ');
    text_ += ' ';
    text_.append(call.function.empty() ? "[unknown]" : call.function).append(inlined_mark);
    append_source_line(text_, indent, call.place);
  }
  append_hex(text_, named.pc, address_digits, ' ');
  text_ += ' ';
  append_function(text_, named, "[unknown]");
  text_.append(" (").append(named.file.empty() ? "[unknown]" : named.file).append(")");
  append_marks(text_, frame);
  text_ += '\n';
  append_source_line(text_, indent, named.place);
  const std::string_view text = std::string_view(text_).substr(begin);
  if (frame.location == nullptr || text.size() > longest_remembered) return;
  line.frame = frame;
  line.text = text;
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

namespace {

/// "#7  "
void append_frame_number(std::string& text, std::size_t number) {
  constexpr std::size_t width = 4;
  const std::string counted = "#" + std::to_string(number);
  text.append(counted).append(counted.size() < width ? width - counted.size() : 1, ' ');
}

}  // namespace

void write_stack(std::ostream& out, const walk::Stack& stack, const std::optional<walk::StackEnd>& cut) {
  constexpr std::string_view indent = "    ";
  std::size_t number = 0;
  for (const walk::Frame& frame : stack.frames) {
    std::string text;
    if (frame.left_out != 0) {
      append_frame_number(text, number);
      number += frame.left_out;
      out << text << text_of_left_out(frame) << '\n';
      continue;
    }
    const NamedFrame named = trace::report::named(frame);
    for (const walk::InlinedCall& call : named.inlined) {
      append_frame_number(text, number++);
      text += "0x";
      append_hex(text, named.pc, address_digits, '0');
      text.append(" ").append(call.function.empty() ? "?" : call.function).append(inlined_mark);
      append_source_line(text, indent, call.place);
    }
    append_frame_number(text, number++);
    text.append(text_of_place(named));
    append_marks(text, frame);
    text += '\n';
    append_source_line(text, indent, named.place);
    out << text;
  }
  write_end(out, stack, cut, indent);
}

namespace {

/// Whether a program or a thread begins there: where an ELF file is entered, or by the function's name.
bool begins_at(const walk::Frame& frame) {
  constexpr std::array names{"_start",       "clone",          "clone3",         "__clone",       "__clone3",
                             "thread_start", "runtime.goexit", "runtime.mstart", "runtime.rt0_go"};
  const auto file = frame.location == nullptr ? nullptr : frame.location->file();
  if (!file) return false;
  constexpr std::uint64_t longest = 64;
  if (frame.instruction() - frame.location->bias - file->image().header().e_entry < longest) return true;
  const std::string_view name = named(frame).function;
  return std::ranges::any_of(names,
                             [&](const char* known) { return name == known || name == std::string(known) + ".abi0"; });
}

}  // namespace

/// A recorded chain does not say whether it is whole, but its end does.
void StackTotals::add_call_chain(const walk::Stack& stack) {
  ++as_recorded_;
  if (!stack.is_deferred && !stack.frames.empty() && stack.stop != unwind::Stop::Stepped &&
      begins_at(stack.frames.back()))
    ++whole_;
  for (const walk::Frame& frame : stack.frames) {
    const walk::Location* const location = frame.location;
    if (location != nullptr && !location->is_of_no_file() && !location->why_not().empty()) ++unnamed_[location];
  }
}

void StackTotals::add(const walk::Stack& stack, const std::optional<walk::StackEnd>& cut) {
  ++stacks_;
  frames_ += walk::count_frames(stack.frames);
  by_frame_pointer_ +=
      static_cast<std::uint64_t>(std::ranges::count(stack.frames, true, &walk::Frame::by_frame_pointer));
  by_code_ += static_cast<std::uint64_t>(std::ranges::count(stack.frames, true, &walk::Frame::by_code));
  from_earlier_sample_ +=
      static_cast<std::uint64_t>(std::ranges::count(stack.frames, true, &walk::Frame::from_earlier_sample));
  if (stack.is_as_recorded) {
    add_call_chain(stack);
  } else if (stack.is_whole()) {
    ++whole_;
  }
  if (cut) {
    ++cuts_[walk::text_of(*cut)];
    const walk::Location* const last = stack.frames.empty() ? nullptr : stack.frames.back().location;
    has_cut_in_no_file_ = has_cut_in_no_file_ || (last != nullptr && last->is_of_no_file());
  }
  has_java_ = has_java_ || std::ranges::any_of(stack.frames, [](const walk::Frame& frame) {
                return frame.location != nullptr && frame.location->name().ends_with("/libjvm.so");
              });
  const auto comparison = walk::comparison_of(stack);
  if (!comparison) return;
  ++compared_;
  different_ += comparison->match == walk::Match::Different ? 1U : 0U;
  equal_ += comparison->match == walk::Match::Equal ? 1U : 0U;
  if (!comparison->dwarf_cut.empty()) ++dwarf_cuts_[comparison->dwarf_cut];
}

void StackTotals::add_missing(const std::string& reason) {
  ++cuts_[reason];
}

void StackTotals::write(std::ostream& out) const {
  out << "sframe-trace: " << count_of(stacks_, "stack") << ", " << count_of(frames_, "frame");
  std::string marked;
  const auto mark = [&marked](std::uint64_t count, const char* how) {
    if (count != 0) marked.append(marked.empty() ? "" : ", ").append(std::to_string(count)).append(how);
  };
  mark(by_frame_pointer_, " by frame pointers");
  mark(by_code_, " by code");
  mark(from_earlier_sample_, " from earlier samples");
  if (!marked.empty()) out << " (" << marked << ')';
  out << "; " << whole_ << " whole";
  if (as_recorded_ != 0) out << ", " << as_recorded_ << " as recorded";
  out << '\n';
  write_counts(out, cuts_, " cut: ");
  if (has_java_ && has_cut_in_no_file_) out << "  Java keeps frame pointers with -XX:+PreserveFramePointer\n";
  write_counts(out, unnamed(), " frames without a name: ");
  if (compared_ != 0) write_comparison(out);
}

StackTotals::Counts StackTotals::unnamed() const {
  Counts counts;
  for (const auto& [location, frames] : unnamed_)
    counts[printable(walk::text_of({location->name(), location->why_not(), {}}))] += frames;
  return counts;
}

void StackTotals::write_comparison(std::ostream& out) const {
  out << "sframe-trace: " << count_of(compared_, "stack") << " walked by DWARF as well: " << equal_ << " equal, "
      << compared_ - equal_ - different_ << " equal up to where one is cut, " << different_ << " different\n";
  write_counts(out, dwarf_cuts_, " cut by DWARF: ");
}

void StackTotals::write_counts(std::ostream& out, const Counts& counts, const char* what) {
  using Count = std::pair<std::string, std::uint64_t>;
  std::vector<Count> lines(counts.begin(), counts.end());
  std::ranges::stable_sort(lines, std::greater<>(), &Count::second);
  for (const auto& [text, count] : lines) out << "  " << count << what << text << '\n';
}

}  // namespace sframe_gen::trace::report
