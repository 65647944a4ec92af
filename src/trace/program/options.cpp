#include "trace/program/options.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <sstream>
#include <string_view>
#include <tuple>

#include "support/text.hpp"
#include "trace/files/output_file.hpp"
#include "trace/program/typed_words.hpp"

namespace sframe_gen::trace {

namespace {

using command_line::file;
using command_line::flag;
using command_line::Given;
using command_line::Option;
using command_line::text;

constexpr std::string_view input = "Input", rows = "Rows", output = "Output";

constexpr Option table[]{
    {"core", 0, input, file("FILE"), "show a crashed process, by its core file"},
    {"program", 0, input, file("FILE"), "of a core file, use this file as the program"},
    {"input", 'i', input, file("FILE"), "show this recording"},
    {"pid", 'p', input, text("PID"), "show this process; of a recording, only samples of these: 12,34"},
    {"tid", 0, input, text("TID"), "of a recording, show only samples of these threads: 12,34"},
    {"comm", 0, input, text("NAME"), "of a recording, show only threads with these names: bash,make"},
    {"event", 0, input, text("EVENT"), "of a recording, show only samples of this event"},
    {"time", 0, input, text("BEGIN,END"), "of a recording, show only samples of this time, in seconds: 12.5,13"},
    {"root", 0, input, file("DIR"), "look in DIR for the files that a core file or recording names"},
    {"debuginfod", 0, input, flag, "fetch what a recording names and is not here from the servers of DEBUGINFOD_URLS"},
    {"kallsyms", 0, input, file("FILE"), "read the kernel's functions from FILE (default: the running kernel's)"},
    {"no-translate", 0, rows, flag, "use only the sections that files have"},
    {"no-synthesize", 0, rows, flag, "make no rows from the instructions of code without call frame information"},
    {"cache", 0, rows, file("DIR"), "keep generated rows in DIR"},
    {"frame-pointers", 0, rows, frame_pointer_argument,
     "without a row, go by the frame pointer: auto (default), always or never"},
    {"earlier-samples", 0, rows, flag,
     "give stacks larger than recorded the outer frames of earlier samples (may be wrong)"},
    {"no-inlines", 0, output, flag, "show only the functions that symbol tables have"},
    {"lines", 0, output, flag, "show the source line of each frame"},
    {"json", 0, output, flag, "print one JSON object for each stack"},
    {"top", 0, output, flag, "print how many samples of a recording have each function"},
    {"sort", 0, output, top_order_argument, "sort functions by total (default) or self"},
    {"limit", 0, output, text("N"), "print at most N functions (default: 50)"},
    {"wide", 0, output, flag, "print whole names, also if a terminal is not as wide"},
    {"folded", 0, output, flag, "print a recording in folded format, for flame graphs"},
    {"weigh", 0, output, flag, "in it, add up periods instead of samples"},
    {"flamegraph", 0, output, file("FILE"), "write a recording as a flame graph (SVG)"},
    {"roots-below", 0, output, flag, "in it, draw callers under what they call"},
    {"title", 0, output, text("TEXT"), "give it this title"},
    {"pprof", 0, output, file("FILE"), "write a recording as a profile for `go tool pprof`"},
    {"call-chains", 0, output, flag, "write a recording again, with call chains instead of stacks"},
    {"output", 'o', output, file("FILE"), "write that recording to FILE"},
    {"compare", 0, output, flag, "also walk by DWARF (libdwfl), and show the first difference"},
    {"frames", 0, output, text("N"), "print at most N frames of a stack (default: 1024)"},
    {"quiet", 'q', output, flag, "print no summary on standard error"},
    {"help", 'h', output, flag, "print this help and exit"},
    {"version", 'V', output, flag, "print the version and exit"},
};

template <typename Number>
std::optional<Number> number_above_0(const std::string& text) {
  const auto number = command_line::number_of<Number>(text);
  return number && *number > 0 ? number : std::nullopt;
}

/// The file that perf reads, too, if none is given.
constexpr const char* usual_recording = "perf.data";

bool reads_recordings_alone(const Given& given) {
  constexpr std::array options{"top", "folded", "flamegraph", "pprof", "call-chains"};
  return std::ranges::any_of(options, [&](const char* option) { return given.has(option); });
}

void read_source(const Given& given, TraceOptions& options) {
  const std::vector<std::string>& what = given.files();
  if (options.source == Source::Command) {
    if (options.command.empty()) throw UsageError("no command after -- (name one)");
    if (!what.empty() || given.has("core")) throw UsageError("a command and another input (give one of them)");
    return;
  }
  if (given.has("core")) {
    if (!what.empty()) throw UsageError("--core and another input (name the program by --program)");
    options.source = Source::Core;
    options.file = *given.value_of("core");
    return;
  }
  if (what.empty() && given.has("pid")) {
    const auto process = number_above_0<int>(*given.value_of("pid"));
    if (!process) throw UsageError("--pid: not a process ID: " + printable(*given.value_of("pid")));
    options.source = Source::Process;
    options.process = *process;
    return;
  }
  if (given.has("input")) {
    if (!what.empty()) throw UsageError("--input and another input (give one of them)");
    options.source = Source::Recording;
    options.file = *given.value_of("input");
    return;
  }
  // Nothing that others have made is looked at before the directory of --root is open.
  const bool may_look = !given.has("root");
  if (what.empty()) {
    if (!may_look || !reads_recordings_alone(given) || !is_here(usual_recording))
      throw UsageError("no process, command or recording given (perf.data, or a PID)");
    options.source = Source::Recording;
    options.file = usual_recording;
    return;
  }
  // As gdb has it.
  if (what.size() == 2 && is_core_file(what[1])) {
    if (given.has("program")) throw UsageError("--program and another program (give one of them)");
    if (!is_here(what[0])) throw UsageError(printable(what[0]) + ": no such program");
    options.source = Source::Core;
    options.program = what[0];
    options.file = what[1];
    return;
  }
  if (may_look && what.size() == 2 && is_core_file(what[0]) && is_here(what[1]))
    throw UsageError("the program comes first (sframe-trace " + printable(what[1]) + " " + printable(what[0]) + ")");
  refuse_command_of_perf(what[0]);
  if (may_look) refuse_program(what[0]);
  if (what.size() != 1) {
    if (may_look && !is_here(what[0]) && !number_above_0<int>(what[0])) refuse_command(what[0]);
    throw UsageError("more than one process or recording (run sframe-trace for each)");
  }
  const auto process = number_above_0<int>(what[0]);
  options.source = process ? Source::Process : may_look && is_core_file(what[0]) ? Source::Core : Source::Recording;
  if (process) {
    options.process = *process;
  } else {
    options.file = what[0];
    // What begins with a digit was meant as a process more likely than as a file that is not there.
    const bool has_digit = !what[0].empty() && what[0].front() >= '0' && what[0].front() <= '9';
    if (has_digit && !is_here(what[0])) throw UsageError(printable(what[0]) + ": not a process ID, and no such file");
  }
}

/// The parts of "12,34".
std::vector<std::string> parts_of(const std::string& list) {
  std::vector<std::string> parts;
  std::istringstream text(list);
  for (std::string part; std::getline(text, part, ',');) parts.push_back(part);
  return parts;
}

std::vector<int> read_numbers(const Given& given, const char* option) {
  std::vector<int> numbers;
  if (!given.has(option)) return numbers;
  for (const std::string& part : parts_of(*given.value_of(option))) {
    const auto number = command_line::number_of<int>(part);
    if (!number || *number < 0)
      throw UsageError("--" + std::string(option) + ": not a list of numbers: " + printable(*given.value_of(option)));
    numbers.push_back(*number);
  }
  if (numbers.empty()) throw UsageError("--" + std::string(option) + " requires a number");
  return numbers;
}

void read_choice(const Given& given, TraceOptions& options) {
  if (options.source != Source::Recording) {
    for (const char* option : {"pid", "tid", "comm", "time", "event"})
      if (given.has(option) &&
          (options.source != Source::Process || !given.files().empty() || std::string_view(option) != "pid"))
        throw UsageError("--" + std::string(option) + " requires a recording");
    return;
  }
  recorded::SampleChoice& choice = options.choice;
  choice.processes = read_numbers(given, "pid");
  choice.threads = read_numbers(given, "tid");
  if (given.has("comm")) choice.names = parts_of(*given.value_of("comm"));
  if (given.has("comm") && choice.names.empty()) throw UsageError("--comm requires a name");
  choice.event = given.value_of("event").value_or("");
  if (given.has("event") && choice.event.empty()) throw UsageError("--event requires a name");
  if (!given.has("time")) return;
  const auto range = recorded::read_time_range(*given.value_of("time"));
  if (!range)
    throw UsageError("--time: not BEGIN,END in seconds: " + printable(*given.value_of("time")) + " (12.5,13)");
  std::tie(choice.begin, choice.end) = *range;
}

void read_rows(const Given& given, TraceOptions& options) {
  options.frame_pointers = given.choice_of<walk::FramePointers>("frame-pointers").value_or(options.frame_pointers);
  options.earlier_samples = given.has("earlier-samples");
  if (options.earlier_samples && options.source != Source::Recording)
    throw UsageError("--earlier-samples requires a recording");
  options.translation.allowed = !given.has("no-translate");
  if (given.has("no-synthesize")) options.translation.code = nullptr;
  if (!given.has("cache")) return;
  options.translation.cache = *given.value_of("cache");
  if (!options.translation.allowed) throw UsageError("--cache cannot be combined with --no-translate");
}

void read_call_chains(const Given& given, TraceOptions& options) {
  if (given.has("call-chains") != given.has("output"))
    throw UsageError(given.has("output") ? "--output requires --call-chains" : "--call-chains requires --output=FILE");
  if (!given.has("output")) return;
  if (options.source != Source::Recording) throw UsageError("--call-chains requires a recording");
  for (const char* other : {"json", "top", "folded", "flamegraph", "pprof", "compare"})
    if (given.has(other)) throw UsageError("--call-chains cannot be combined with --" + std::string(other));
  options.call_chains = *given.value_of("output");
  if (stream_named(options.call_chains)) throw UsageError("a recording cannot be written to a stream (name a file)");
}

/// Of the standard output, if it is a terminal; else 0.
std::size_t columns_of_terminal() {
  winsize size{};
  const bool is_known = ::isatty(STDOUT_FILENO) != 0 &&
                        ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;  // NOLINT(cppcoreguidelines-pro-type-vararg)
  return is_known ? size.ws_col : 0;
}

void read_top(const Given& given, TraceOptions& options) {
  for (const char* option : {"limit", "sort", "wide"})
    if (given.has(option) && !given.has("top")) throw UsageError("--" + std::string(option) + " requires --top");
  options.top.order = given.choice_of<report::TopOrder>("sort").value_or(options.top.order);
  if (!given.has("wide")) options.top.columns = columns_of_terminal();
  if (!given.has("limit")) return;
  const auto limit = number_above_0<std::size_t>(*given.value_of("limit"));
  if (!limit) throw UsageError("--limit requires a number above 0");
  options.top.most = *limit;
}

void read_picture(const Given& given, TraceOptions& options) {
  for (const char* option : {"title", "roots-below"})
    if (given.has(option) && !given.has("flamegraph"))
      throw UsageError("--" + std::string(option) + " requires --flamegraph");
  options.flame_graph = given.value_of("flamegraph").value_or("");
  options.title = given.value_of("title").value_or("");
  options.has_roots_below = given.has("roots-below");
}

void read_output(const Given& given, TraceOptions& options) {
  for (const char* form : {"top", "folded", "flamegraph", "pprof"})
    if (given.has(form) && options.source != Source::Recording)
      throw UsageError("--" + std::string(form) + " requires a recording");
  read_report(given, options);
  options.compare = given.has("compare");
  for (const char* form : {"top", "folded", "flamegraph", "pprof"})
    if (options.compare && given.has(form))
      throw UsageError("--compare shows each stack, and excludes --top, --folded, --flamegraph and --pprof");
  read_call_chains(given, options);
  if (!given.has("frames")) return;
  const auto frames = number_above_0<std::size_t>(*given.value_of("frames"));
  if (!frames) throw UsageError("--frames requires a number above 0");
  options.most_frames = *frames;
}

/// Frames are counted as DWARF's walk has them where both are compared.
void read_source_options(const Given& given, TraceOptions& options) {
  const bool lines = given.has("lines");
  const bool has_names = !options.compare && options.call_chains.empty();
  if (!has_names && lines)
    throw UsageError(std::string("--lines cannot be combined with ") +
                     (options.compare ? "--compare" : "--call-chains"));
  for (const char* form : {"top", "folded", "flamegraph"})
    if (lines && given.has(form)) throw UsageError("--lines cannot be combined with --" + std::string(form));
  walk::SourceOptions& source = options.translation.source;
  source.inlines = has_names && !given.has("no-inlines");
  source.lines = lines || (source.inlines && !options.pprof.empty());
}

}  // namespace

void read_report(const Given& given, TraceOptions& options) {
  const bool json = given.has("json"), folded = given.has("folded"), top = given.has("top");
  if (json + folded + top + given.has("flamegraph") + given.has("pprof") > 1)
    throw UsageError("more than one of --json, --top, --folded, --flamegraph and --pprof (choose one)");
  if (json) options.form = OutputForm::Json;
  if (folded) options.form = OutputForm::Folded;
  if (top) options.form = OutputForm::Top;
  read_picture(given, options);
  read_top(given, options);
  options.pprof = given.value_of("pprof").value_or("");
  options.folds_periods = given.has("weigh");
  if (options.folds_periods && !folded) throw UsageError("--weigh requires --folded");
  options.quiet = given.has("quiet");
}

TraceOptions read_options(int argument_count, const char* const* arguments) {
  const std::span all(arguments, static_cast<std::size_t>(argument_count));
  if (all.size() > 1 && std::string_view(all[1]) == "record")
    return read_record_options(argument_count - 1, arguments + 1);
  if (all.size() > 1) refuse_command_of_perf(all[1]);
  const auto command = std::ranges::find(all, std::string_view("--"));
  if (std::find(all.begin(), command, std::string_view("--launch")) != command)
    throw UsageError("--launch: an option of sframe-gen (use sframe-trace -- COMMAND to trace a command)");
  const Given given(table, static_cast<int>(command - all.begin()), arguments, reading_hints);
  TraceOptions options;
  if (given.has("help") || (given.files() == std::vector<std::string>{"help"} && !is_here("help"))) {
    if (given.files() == std::vector<std::string>{"record"}) options.source = Source::RecordHelp;
    return options;
  }
  if (given.has("version")) {
    options.source = Source::Version;
    return options;
  }
  if (command != all.end()) {
    options.source = Source::Command;
    options.command.assign(std::next(command), all.end());
  }
  read_source(given, options);
  if (given.has("program")) {
    if (options.source != Source::Core) throw UsageError("--program requires a core file");
    options.program = *given.value_of("program");
  }
  if (given.has("root")) {
    if (options.source == Source::Process || options.source == Source::Command) {
      throw UsageError("--root requires a core file or recording");
    }
    options.root = *given.value_of("root");
  }
  if (given.has("kallsyms")) {
    if (options.source != Source::Recording) throw UsageError("--kallsyms requires a recording");
    options.kernel_symbols = *given.value_of("kallsyms");
  }
  options.debuginfod = given.has("debuginfod");
  if (options.debuginfod && options.source != Source::Recording) throw UsageError("--debuginfod requires a recording");
  read_choice(given, options);
  read_rows(given, options);
  read_output(given, options);
  read_source_options(given, options);
  return options;
}

std::string help_text() {
  std::ostringstream text;
  text << "Usage: sframe-trace [OPTION]... [-p] PID\n"
          "       sframe-trace [OPTION]... -- COMMAND [ARGUMENT]...\n"
          "       sframe-trace [OPTION]... [PROGRAM] CORE\n"
          "       sframe-trace [OPTION]... RECORDING\n"
          "       sframe-trace record [OPTION]... [COMMAND [ARGUMENT]...]\n"
          "\n"
          "Print the stacks of a running process, of a command that a signal ends, of a core file, or of a recording "
          "of\n"
          "`perf record --call-graph dwarf`. A RECORDING of - is standard input. `record` records samples with whole "
          "stacks: "
          "see\n"
          "`sframe-trace record --help`. A file of that name is ./record.\n"
       << described(table)
       << "\n"
          "A command's stacks go to standard error; `kill -QUIT` asks for them while it runs. `cut:` after a stack "
          "says why\n"
          "it ends before its outermost frame.\n"
          "\n"
          "Exit status: 0 if there were stacks, 1 if not or if --compare found a difference, 2 for a wrong command "
          "line; a\n"
          "command's own, 127 if it is not found, 126 if it cannot be run, 125 if it cannot be traced.\n"
          "\n"
          "Examples:\n"
          "  sframe-trace $(pidof -s bash)\n"
          "  sframe-trace -- ./program --its-option\n"
          "  sframe-trace record --flamegraph out.svg ./program --its-option\n"
          "  sframe-trace ./program core\n"
          "  sframe-trace --top --comm bash perf.data\n"
          "  perf record --call-graph dwarf g++ -O2 -c file.cpp && sframe-trace --flamegraph out.svg perf.data\n";
  return text.str();
}

}  // namespace sframe_gen::trace
