#include "trace/options.hpp"

#include <boost/program_options.hpp>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <span>
#include <sstream>
#include <string_view>
#include <system_error>
#include <vector>

#include "support/text.hpp"

namespace po = boost::program_options;

namespace sframe_gen::trace {

namespace {

using Words = std::vector<std::string>;

po::options_description description() {
  constexpr unsigned line_width = 100, text_width = 60;
  po::options_description all(line_width, text_width);
  po::options_description source("Stacks of", line_width, text_width);
  source.add_options()("core", po::value<std::string>()->value_name("FILE"),
                       "a process that is no more, by its core file");
  source.add_options()("root", po::value<std::string>()->value_name("FOLDER"),
                       "the files that a core file or recording names are below this one");
  source.add_options()(
      "kallsyms", po::value<std::string>()->value_name("FILE"),
      "the kernel's functions, as its /proc/kallsyms listed them when it recorded (default: the running "
      "kernel's, if it is the same)");
  po::options_description rows("Rows", line_width, text_width);
  rows.add_options()("translate",
                     "make rows in memory for files that have none, from their call frame information "
                     "(the default but for PID)");
  rows.add_options()("no-translate", "take only the rows that files have");
  rows.add_options()("cache", po::value<std::string>()->value_name("FOLDER"),
                     "keep the rows that were made there, by build-id, for the next time, and the kernel's functions");
  po::options_description output("Output", line_width, text_width);
  output.add_options()("json", "one JSON object a line for each stack");
  output.add_options()("folded",
                       "of a recording: each stack once, with the number of its samples, as flame graphs are made of");
  output.add_options()("flamegraph", po::value<std::string>()->value_name("FILE"),
                       "of a recording: write a picture that a browser shows, zooms and searches (SVG)");
  output.add_options()("compare",
                       "walk each stack by DWARF as well (elfutils' libdwfl), and show where they differ first");
  output.add_options()("frames", po::value<std::string>()->value_name("N"),
                       "at most so many frames of a stack (default: 1024)");
  output.add_options()("quiet,q", "no summary on standard error");
  output.add_options()("help,h", "print this and exit");
  output.add_options()("version", "print the version and exit");
  return all.add(source).add(rows).add(output);
}

po::variables_map parse(int argument_count, const char* const* arguments) {
  po::options_description all = description();
  all.add_options()("what", po::value<Words>());
  po::positional_options_description rest;
  rest.add("what", -1);
  namespace style = po::command_line_style;
  po::variables_map values;
  try {
    po::store(po::command_line_parser(argument_count, arguments)
                  .options(all)
                  .positional(rest)
                  .style(style::unix_style & ~style::allow_guessing)
                  .run(),
              values);
    po::notify(values);
  } catch (const po::error& error) {
    throw UsageError(error.what());
  }
  return values;
}

template <typename Number>
std::optional<Number> number_in(const std::string& text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number <= 0) return std::nullopt;
  return number;
}

void read_source(const po::variables_map& values, Options& options) {
  const Words what = values.count("what") != 0 ? values["what"].as<Words>() : Words();
  if (options.source == Source::Command) {
    if (options.command.empty()) throw UsageError("no command behind --");
    if (!what.empty() || values.count("core") != 0) throw UsageError("a command is run, and nothing else is looked at");
    return;
  }
  if (values.count("core") != 0) {
    if (!what.empty()) throw UsageError("--core takes one file, and nothing else is looked at");
    options.source = Source::Core;
    options.file = values["core"].as<std::string>();
    return;
  }
  if (what.size() != 1)
    throw UsageError(what.empty() ? "no process or recording given" : "one process or recording at a time");
  const auto process = number_in<int>(what[0]);
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

void read_rows(const po::variables_map& values, Options& options) {
  const bool yes = values.count("translate") != 0, no = values.count("no-translate") != 0;
  if (yes && no) throw UsageError("--translate and --no-translate exclude each other");
  options.translation.allowed = yes || (!no && options.source != Source::Process);
  if (values.count("cache") == 0) return;
  options.translation.cache = values["cache"].as<std::string>();
  if (!options.translation.allowed) throw UsageError("--cache keeps what --translate makes");
}

void read_output(const po::variables_map& values, Options& options) {
  const bool json = values.count("json") != 0, folded = values.count("folded") != 0;
  const bool picture = values.count("flamegraph") != 0;
  if (json + folded + picture > 1) throw UsageError("--json, --folded and --flamegraph exclude each other");
  if ((folded || picture) && options.source != Source::Recording) {
    throw UsageError(std::string(folded ? "--folded" : "--flamegraph") + " is for recordings");
  }
  if (picture) options.flame_graph = values["flamegraph"].as<std::string>();
  if (json) options.form = Form::Json;
  if (folded) options.form = Form::Folded;
  options.quiet = values.count("quiet") != 0;
  options.compare = values.count("compare") != 0;
  if (options.compare && (folded || picture))
    throw UsageError("--compare shows each stack: no --folded, no --flamegraph");
  if (values.count("frames") == 0) return;
  const auto frames = number_in<std::size_t>(values["frames"].as<std::string>());
  if (!frames) throw UsageError("--frames takes a number above 0");
  options.most_frames = *frames;
}

}  // namespace

Options read_options(int argument_count, const char* const* arguments) {
  const std::span all(arguments, static_cast<std::size_t>(argument_count));
  const auto command = std::ranges::find(all, std::string_view("--"));
  const po::variables_map values = parse(static_cast<int>(command - all.begin()), arguments);
  Options options;
  if (values.count("help") != 0) return options;
  if (values.count("version") != 0) {
    options.source = Source::Version;
    return options;
  }
  if (command != all.end()) {
    options.source = Source::Command;
    options.command.assign(std::next(command), all.end());
  }
  read_source(values, options);
  if (values.count("root") != 0) {
    if (options.source == Source::Process || options.source == Source::Command) {
      throw UsageError("--root is for core files and recordings");
    }
    options.root = values["root"].as<std::string>();
  }
  if (values.count("kallsyms") != 0) {
    if (options.source != Source::Recording) throw UsageError("--kallsyms is for recordings");
    options.kernel_symbols = values["kallsyms"].as<std::string>();
  }
  read_rows(values, options);
  read_output(values, options);
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
      << description()
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
