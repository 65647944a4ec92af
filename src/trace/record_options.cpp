#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <span>
#include <sstream>
#include <string_view>

#include "support/text.hpp"
#include "trace/files/output_file.hpp"
#include "trace/options.hpp"

namespace sframe_gen::trace {

namespace {

using command_line::file;
using command_line::flag;
using command_line::Given;
using command_line::number_of;
using command_line::Option;
using command_line::text;

constexpr std::string_view of_target = "What is recorded", of_samples = "Samples", of_output = "Output";

constexpr command_line::Argument event_argument{
    .kind = command_line::ArgumentKind::Text, .name = "EVENT", .repeats = true};

constexpr Option record_table[]{
    {"all", 'a', of_target, flag, "record the whole machine"},
    {"cpu", 'C', of_target, text("LIST"), "record these processors: 0,2-5"},
    {"pid", 'p', of_target, text("PID"), "record running processes: 12,34"},
    {"duration", 0, of_target, text("TIME"), "end after TIME: 30s, 500ms, 2m"},
    {"as-root", 0, of_target, flag, "under sudo, run the command as root"},
    {"event", 'e', of_samples, event_argument, "sample EVENT (default: cycles, or cpu-clock)"},
    {"freq", 'F', of_samples, text("N"), "take N samples a second (default: 999, or 99)"},
    {"count", 'c', of_samples, text("N"), "take a sample each N events"},
    {"stack", 0, of_samples, text("BYTES"), "walk up to BYTES of each stack (default: 65528)"},
    {"frames", 0, of_samples, text("N"), "keep at most N frames of a stack (default: 512)"},
    {"frame-pointers", 0, of_samples, frame_pointer_argument,
     "without a row, go by the frame pointer: auto (default), always or never"},
    {"cache", 0, of_samples, file("DIR"), "keep generated rows and the kernel's functions in DIR"},
    {"output", 'o', of_output, file("FILE"), "write FILE (default: perf.data)"},
    {"flamegraph", 0, of_output, file("FILE"), "write a flame graph (SVG) instead"},
    {"folded", 0, of_output, flag, "print folded stacks instead"},
    {"json", 0, of_output, flag, "print one JSON object for each sample instead"},
    {"quiet", 'q', of_output, flag, "print no summary on standard error"},
    {"help", 'h', of_output, flag, "print this help and exit"},
};

/// A number of the option's, from `least` to `most`.
std::optional<std::uint64_t> number_in(const Given& given, std::string_view option, std::uint64_t least,
                                       std::uint64_t most) {
  if (!given.has(option)) return std::nullopt;
  const auto number = number_of<std::uint64_t>(*given.value_of(option));
  if (number && *number >= least && *number <= most) return number;
  throw UsageError("--" + std::string(option) + " requires a number from " + std::to_string(least) + " to " +
                   std::to_string(most));
}

/// "0,2-5"
std::vector<int> numbers_of(const Given& given, std::string_view option, bool has_ranges) {
  std::vector<int> numbers;
  if (!given.has(option)) return numbers;
  constexpr std::size_t most = 1U << 16U;
  std::istringstream list(*given.value_of(option));
  for (std::string part; std::getline(list, part, ',');) {
    const std::size_t hyphen = has_ranges ? part.find('-') : std::string::npos;
    const auto first = number_of<int>(std::string_view(part).substr(0, hyphen));
    const auto last = hyphen == std::string::npos ? first : number_of<int>(std::string_view(part).substr(hyphen + 1));
    if (!first || !last || *first < 0 || *last < *first || static_cast<std::size_t>(*last - *first) > most)
      throw UsageError("--" + std::string(option) + ": not a list of numbers: " + printable(part));
    for (int number = *first; number <= *last; ++number) numbers.push_back(number);
  }
  std::ranges::sort(numbers);
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

/// "30s" in ns.
std::uint64_t time_of(const std::string& text) {
  constexpr std::uint64_t ms = 1'000'000, s = 1000 * ms;
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [unit, error] = std::from_chars(text.data(), end, number);
  const std::string_view name(unit, static_cast<std::size_t>(end - unit));
  const std::uint64_t factor = name == "ms"                ? ms
                               : name == "m"               ? 60 * s
                               : name == "h"               ? 3600 * s
                               : name == "s" || name == "" ? s
                                                           : 0;
  constexpr std::uint64_t most = 1'000'000;
  if (error == std::errc() && factor != 0 && number > 0 && number <= most) return number * factor;
  throw UsageError("--duration: not a time: " + printable(text) + " (30s, 500ms, 2m)");
}

void read_target(const Given& given, TraceOptions& options, bool has_command) {
  RecordOptions& record = options.record;
  record.all = given.has("all");
  record.processors = numbers_of(given, "cpu", true);
  record.processes = numbers_of(given, "pid", false);
  record.as_root = given.has("as-root");
  if (!given.files().empty())
    throw UsageError("unknown argument " + printable(given.files().front()) + " (a command follows --)");
  const bool has_processes = !record.processes.empty();
  if (!has_command && !has_processes && !record.is_of_machine())
    throw UsageError("nothing to record (give -- COMMAND, -p PID or -a)");
  if (has_processes && (has_command || record.is_of_machine()))
    throw UsageError("-p excludes -a, -C and a command (record one of them)");
  if (given.has("duration")) record.time_ns = time_of(*given.value_of("duration"));
}

void read_samples(const Given& given, TraceOptions& options) {
  RecordOptions& record = options.record;
  constexpr std::uint64_t most_rate = 1'000'000, most_period = 1ULL << 62U, most_stack = 65528, most_frames = 4096;
  record.events = given.values_of("event");
  if (given.has("freq") && given.has("count")) throw UsageError("--freq cannot be combined with --count");
  record.frequency = number_in(given, "freq", 1, most_rate).value_or(0);
  record.period = number_in(given, "count", 1, most_period).value_or(0);
  constexpr std::uint64_t word = 8;
  record.stack =
      static_cast<std::uint32_t>(number_in(given, "stack", word, most_stack).value_or(most_stack) / word * word);
  constexpr std::size_t usual_frames = 512;
  options.most_frames = number_in(given, "frames", 1, most_frames).value_or(usual_frames);
  options.frame_pointers = given.choice_of<FramePointers>("frame-pointers").value_or(options.frame_pointers);
  if (given.has("cache")) options.translation.cache = *given.value_of("cache");
}

void read_record_output(const Given& given, TraceOptions& options) {
  const bool json = given.has("json"), folded = given.has("folded"), picture = given.has("flamegraph");
  if (json + folded + picture + given.has("output") > 1)
    throw UsageError("more than one of --output, --json, --folded and --flamegraph (choose one)");
  if (json) options.form = OutputForm::Json;
  if (folded) options.form = OutputForm::Folded;
  if (picture) options.flame_graph = *given.value_of("flamegraph");
  if (!json && !folded && !picture) options.record.output = given.value_of("output").value_or("perf.data");
  if (stream_named(options.record.output))
    throw UsageError("a recording cannot be written to a stream (give --folded or --json)");
  options.quiet = given.has("quiet");
}

}  // namespace

TraceOptions read_record_options(int argument_count, const char* const* arguments) {
  const std::span all(arguments, static_cast<std::size_t>(argument_count));
  const auto command = std::ranges::find(all, std::string_view("--"));
  const Given given(record_table, static_cast<int>(command - all.begin()), arguments);
  TraceOptions options;
  options.source = Source::RecordHelp;
  if (given.has("help")) return options;
  options.source = Source::Record;
  if (command != all.end()) {
    options.command.assign(std::next(command), all.end());
    if (options.command.empty()) throw UsageError("no command after -- (name one)");
  }
  read_target(given, options, !options.command.empty());
  read_samples(given, options);
  read_record_output(given, options);
  return options;
}

std::string record_help_text() {
  std::ostringstream text;
  text << "Usage: sframe-trace record [OPTION]... -- COMMAND [ARGUMENT]...\n"
          "       sframe-trace record [OPTION]... -p PID\n"
          "       sframe-trace record [OPTION]... -a [-- COMMAND [ARGUMENT]...]\n"
          "\n"
          "Record samples of what runs, with whole stacks, in a perf.data file that perf and others read. It ends with "
          "the\n"
          "command, with the processes, after --duration, or by Ctrl-C.\n"
       << described(record_table)
       << "\n"
          "Exit status: the command's own, 127 if it is not found, 126 if it cannot be run, 125 if it cannot be "
          "recorded.\n"
          "Without a command, 0 if there were samples, 1 if not, 2 for a wrong command line.\n"
          "\n"
          "Examples:\n"
          "  sframe-trace record -- ./program\n"
          "  sudo sframe-trace record -a --duration=30s\n"
          "  sframe-trace record -p $(pidof -s bash) --flamegraph out.svg\n"
          "  perf report --max-stack 512\n";
  return text.str();
}

}  // namespace sframe_gen::trace
