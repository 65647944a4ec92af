#include "trace/options.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <sstream>
#include <string_view>
#include <system_error>

#include "support/text.hpp"

namespace sframe_gen::trace {

namespace {

using command_line::file;
using command_line::flag;
using command_line::Given;
using command_line::Option;
using command_line::text;

constexpr std::string_view source = "Stacks of", rows = "Rows", output = "Output";

constexpr Option table[]{
    {"core", 0, source, file("FILE"), "a process that is no more, by its core file"},
    {"root", 0, source, file("FOLDER"), "the files that a core file or recording names are below this one"},
    {"kallsyms", 0, source, file("FILE"),
     "the kernel's functions, as its /proc/kallsyms listed them when it recorded (default: the running kernel's, if it "
     "is the same)"},
    {"translate", 0, rows, flag,
     "make rows in memory for files that have none, from their call frame information (the default but for PID)"},
    {"no-translate", 0, rows, flag, "take only the rows that files have"},
    {"cache", 0, rows, file("FOLDER"),
     "keep the rows that were made there, by build-id, for the next time, and the kernel's functions"},
    {"json", 0, output, flag, "one JSON object a line for each stack"},
    {"folded", 0, output, flag,
     "of a recording: each stack once, with the number of its samples, as flame graphs are made of"},
    {"flamegraph", 0, output, file("FILE"),
     "of a recording: write a picture that a browser shows, zooms and searches (SVG)"},
    {"compare", 0, output, flag,
     "walk each stack by DWARF as well (elfutils' libdwfl), and show where they differ first"},
    {"frames", 0, output, text("N"), "at most so many frames of a stack (default: 1024)"},
    {"quiet", 'q', output, flag, "no summary on standard error"},
    {"help", 'h', output, flag, "print this and exit"},
    {"version", 0, output, flag, "print the version and exit"},
};

template <typename Number>
std::optional<Number> number_above_0(const std::string& text) {
  const auto number = command_line::number_of<Number>(text);
  return number && *number > 0 ? number : std::nullopt;
}

void read_source(const Given& given, Options& options) {
  const std::vector<std::string>& what = given.files();
  if (options.source == Source::Command) {
    if (options.command.empty()) throw UsageError("no command behind --");
    if (!what.empty() || given.has("core")) throw UsageError("a command is run, and nothing else is looked at");
    return;
  }
  if (given.has("core")) {
    if (!what.empty()) throw UsageError("--core takes one file, and nothing else is looked at");
    options.source = Source::Core;
    options.file = *given.value_of("core");
    return;
  }
  if (what.size() != 1)
    throw UsageError(what.empty() ? "no process or recording given" : "one process or recording at a time");
  const auto process = number_above_0<int>(what[0]);
  options.source = process ? Source::Process : Source::Recording;
  if (process) {
    options.process = *process;
  } else {
    options.file = what[0];
    // What begins with a digit was meant as a process more likely than as a file that is not there.
    std::error_code none;
    const bool has_digit = !what[0].empty() && what[0].front() >= '0' && what[0].front() <= '9';
    if (has_digit && !std::filesystem::exists(options.file, none))
      throw UsageError(printable(what[0]) + " is no process's number, and there is no such file");
  }
}

void read_rows(const Given& given, Options& options) {
  const bool yes = given.has("translate"), no = given.has("no-translate");
  if (yes && no) throw UsageError("--translate and --no-translate exclude each other");
  options.translation.allowed = yes || (!no && options.source != Source::Process);
  if (!given.has("cache")) return;
  options.translation.cache = *given.value_of("cache");
  if (!options.translation.allowed) throw UsageError("--cache keeps what --translate makes");
}

void read_output(const Given& given, Options& options) {
  const bool json = given.has("json"), folded = given.has("folded");
  const bool picture = given.has("flamegraph");
  if (json + folded + picture > 1) throw UsageError("--json, --folded and --flamegraph exclude each other");
  if ((folded || picture) && options.source != Source::Recording) {
    throw UsageError(std::string(folded ? "--folded" : "--flamegraph") + " is for recordings");
  }
  if (picture) options.flame_graph = *given.value_of("flamegraph");
  if (json) options.form = Form::Json;
  if (folded) options.form = Form::Folded;
  options.quiet = given.has("quiet");
  options.compare = given.has("compare");
  if (options.compare && (folded || picture))
    throw UsageError("--compare shows each stack: no --folded, no --flamegraph");
  if (!given.has("frames")) return;
  const auto frames = number_above_0<std::size_t>(*given.value_of("frames"));
  if (!frames) throw UsageError("--frames takes a number above 0");
  options.most_frames = *frames;
}

}  // namespace

Options read_options(int argument_count, const char* const* arguments) {
  const std::span all(arguments, static_cast<std::size_t>(argument_count));
  const auto command = std::ranges::find(all, std::string_view("--"));
  const Given given(table, static_cast<int>(command - all.begin()), arguments);
  Options options;
  if (given.has("help")) return options;
  if (given.has("version")) {
    options.source = Source::Version;
    return options;
  }
  if (command != all.end()) {
    options.source = Source::Command;
    options.command.assign(std::next(command), all.end());
  }
  read_source(given, options);
  if (given.has("root")) {
    if (options.source == Source::Process || options.source == Source::Command) {
      throw UsageError("--root is for core files and recordings");
    }
    options.root = *given.value_of("root");
  }
  if (given.has("kallsyms")) {
    if (options.source != Source::Recording) throw UsageError("--kallsyms is for recordings");
    options.kernel_symbols = *given.value_of("kallsyms");
  }
  read_rows(given, options);
  read_output(given, options);
  return options;
}

std::string help_text() {
  std::ostringstream text;
  text
      << "Usage: sframe-trace [OPTION]... PID          the stacks of a running process, of all its threads\n"
         "       sframe-trace [OPTION]... -- COMMAND [ARGUMENT]...\n"
         "                                             of a command, when a signal ends it or you ask\n"
         "       sframe-trace [OPTION]... --core FILE  of one that has crashed\n"
         "       sframe-trace [OPTION]... RECORDING    of the samples of `perf record --call-graph dwarf`;\n"
         "                                             -: as they come from a pipe (perf record -o -)\n"
         "\n"
         "Walks stacks by the .sframe sections of the files in them.\n"
         "\n"
      << described(table)
      << "\n"
         "A command runs as it would, under its own PID; its stacks go to standard error, and `kill -QUIT` asks for\n"
         "them. What it starts itself is not followed.\n"
         "\n"
         "Exit status: 0 if there were stacks, 1 if not, or if --compare found a difference, 2 if the command line is\n"
         "wrong; the command's, 127 if there is none, 126 if it cannot be run, 125 if it cannot be traced. What cut a\n"
         "stack before its outermost frame stands below it, and in the summary.\n"
         "\n"
         "Examples:\n"
         "  sframe-trace $(pidof bash)\n"
         "  sframe-trace -- ./program --its-option\n"
         "  sframe-trace --core core --cache ~/.cache/sframe\n"
         "  perf record --call-graph dwarf g++ -O2 -c file.cpp && sframe-trace --flamegraph out.svg perf.data\n";
  return text.str();
}

}  // namespace sframe_gen::trace
