#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <optional>
#include <span>
#include <sstream>
#include <string_view>
#include <utility>

#include "support/text.hpp"
#include "trace/files/output_file.hpp"
#include "trace/program/options.hpp"
#include "trace/program/record_words.hpp"

namespace sframe_gen::trace {

namespace {

using command_line::file;
using command_line::flag;
using command_line::Given;
using command_line::number_of;
using command_line::Option;
using command_line::text;

constexpr std::string_view of_target = "What is recorded", of_samples = "Samples", of_output = "Output",
                           of_report = "Output at the end, instead of a recording";

constexpr command_line::Argument event_argument{
    .kind = command_line::ArgumentKind::Text, .name = "EVENT", .repeats = true};

constexpr Option record_table[]{
    {"all", 'a', of_target, flag, "record the whole machine"},
    {"cpu", 'C', of_target, text("LIST"), "record these processors: 0,2-5"},
    {"pid", 'p', of_target, text("PID"), "record running processes: 12,34"},
    {"duration", 0, of_target, text("TIME"), "end after TIME: 30s, 500ms, 2m"},
    {"as-root", 0, of_target, flag, "under sudo, run the command as root"},
    {"event", 'e', of_samples, event_argument, "sample EVENT,... (default: cycles, or cpu-clock)"},
    {"freq", 'F', of_samples, text("N"), "take N samples a second, or max (default: 999, or 99)"},
    {"count", 'c', of_samples, text("N"), "take a sample each N events"},
    {"stack", 0, of_samples, text("BYTES"), "walk up to BYTES of each stack (default: 65528)"},
    {"frames", 0, of_samples, text("N"), "keep at most N frames of a stack (default: 512)"},
    {"frame-pointers", 0, of_samples, frame_pointer_argument,
     "without a row, go by the frame pointer: auto (default), always or never"},
    {"earlier-samples", 0, of_samples, flag,
     "give stacks larger than copied the outer frames of earlier samples (may be wrong)"},
    {"no-synthesize", 0, of_samples, flag, "make no rows from the instructions of code without call frame information"},
    {"cache", 0, of_samples, file("DIR"), "keep generated rows in DIR"},
    {"output", 'o', of_output, file("FILE"), "write FILE (default: perf.data)"},
    {"quiet", 'q', of_output, flag, "print no summary on standard error"},
    {"help", 'h', of_output, flag, "print this help and exit"},
    {"flamegraph", 0, of_report, file("FILE"), "write a flame graph (SVG)"},
    {"roots-below", 0, of_report, flag, "in it, draw callers under what they call"},
    {"title", 0, of_report, text("TEXT"), "give it this title"},
    {"top", 0, of_report, flag, "print how many samples have each function"},
    {"sort", 0, of_report, top_order_argument, "sort functions by total (default) or self"},
    {"limit", 0, of_report, text("N"), "print at most N functions (default: 50)"},
    {"wide", 0, of_report, flag, "print whole names, also if a terminal is not as wide"},
    {"folded", 0, of_report, flag, "print folded stacks"},
    {"weigh", 0, of_report, flag, "in them, add up periods instead of samples"},
    {"json", 0, of_report, flag, "print one JSON object for each sample"},
    {"pprof", 0, of_report, file("FILE"), "write a profile for `go tool pprof`"},
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
      throw UsageError("--" + std::string(option) + ": not a list of numbers: " + printable(part) +
                       (option == "pid" ? " (use -p $(pidof -s NAME))" : ""));
    for (std::int64_t number = *first; number <= *last; ++number) numbers.push_back(static_cast<int>(number));
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
  record::RecordOptions& record = options.record;
  record.all = given.has("all");
  record.processors = numbers_of(given, "cpu", true);
  record.processes = numbers_of(given, "pid", false);
  record.as_root = given.has("as-root");
  const bool has_processes = !record.processes.empty();
  if (!has_command && !has_processes && !record.is_of_machine())
    throw UsageError("nothing to record (give a COMMAND, -p PID or -a)");
  if (has_processes && record.is_of_machine()) throw UsageError("-p excludes -a and -C (record one of them)");
  if (given.has("duration")) record.time_ns = time_of(*given.value_of("duration"));
}

/// The parts of "cycles,cs".
std::vector<std::string> events_of(const std::vector<std::string>& lists) {
  std::vector<std::string> events;
  for (const std::string& list : lists) {
    std::istringstream parts(list);
    for (std::string part; std::getline(parts, part, ',');) events.push_back(part);
    if (list.empty() || list.ends_with(',')) throw UsageError("--event requires a name");
  }
  return events;
}

void read_samples(const Given& given, TraceOptions& options) {
  record::RecordOptions& record = options.record;
  constexpr std::uint64_t most_rate = 1'000'000, most_period = 1ULL << 62U, most_stack = 65528, most_frames = 4096;
  record.events = events_of(given.values_of("event"));
  if (given.has("freq") && given.has("count")) throw UsageError("--freq cannot be combined with --count");
  record.is_most_frequent = given.value_of("freq") == "max";
  if (!record.is_most_frequent) record.frequency = number_in(given, "freq", 1, most_rate).value_or(0);
  record.period = number_in(given, "count", 1, most_period).value_or(0);
  constexpr std::uint64_t word = 8;
  record.stack =
      static_cast<std::uint32_t>(number_in(given, "stack", word, most_stack).value_or(most_stack) / word * word);
  constexpr std::size_t usual_frames = 512;
  options.most_frames = number_in(given, "frames", 1, most_frames).value_or(usual_frames);
  options.frame_pointers = given.choice_of<walk::FramePointers>("frame-pointers").value_or(options.frame_pointers);
  options.earlier_samples = given.has("earlier-samples");
  constexpr std::uint64_t code_for_each_lookup = std::uint64_t{64} << 10U;
  options.translation.code->for_each_lookup = code_for_each_lookup;
  if (given.has("no-synthesize")) options.translation.code = nullptr;
  if (given.has("cache")) options.translation.cache = *given.value_of("cache");
}

void read_record_output(const Given& given, TraceOptions& options) {
  read_report(given, options);
  for (const char* form : {"folded", "flamegraph"})
    if (given.has(form) && options.record.events.size() > 1)
      throw UsageError("--" + std::string(form) + " shows one event (record to a file, and read it with --event=NAME)");
  walk::SourceOptions& source = options.translation.source;
  source.inlines = true;
  source.lines = !options.pprof.empty();
  constexpr std::array forms{"json", "top", "folded", "flamegraph", "pprof"};
  const auto form = std::ranges::find_if(forms, [&](const char* name) { return given.has(name); });
  if (form == forms.end()) {
    options.record.output = given.value_of("output").value_or("perf.data");
  } else if (given.has("output")) {
    throw UsageError("--output cannot be combined with --" + std::string(*form) +
                     " (record to a file, and read it with `sframe-trace --" + *form + "`)");
  }
  if (stream_named(options.record.output))
    throw UsageError("a recording cannot be written to a stream (give --folded or --json)");
}

}  // namespace

TraceOptions read_record_options(int argument_count, const char* const* arguments) {
  RecordWords words = split_record_words(record_table, {arguments, static_cast<std::size_t>(argument_count)});
  std::vector<const char*> own;
  own.reserve(words.options.size());
  for (const std::string& word : words.options) own.push_back(word.c_str());
  const Given given(record_table, static_cast<int>(own.size()), own.data(), record_hints);
  TraceOptions options;
  options.source = Source::RecordHelp;
  if (given.has("help")) return options;
  options.source = Source::Record;
  if (words.has_mark && words.command.empty()) throw UsageError("no command after -- (name one)");
  options.command = std::move(words.command);
  options.record.words.assign(arguments, arguments + argument_count);
  options.record.stacks_asked = std::move(words.stacks_asked);
  read_target(given, options, !options.command.empty());
  read_samples(given, options);
  read_record_output(given, options);
  return options;
}

std::string record_help_text() {
  std::ostringstream text;
  text << "Usage: sframe-trace record [OPTION]... [--] COMMAND [ARGUMENT]...\n"
          "       sframe-trace record [OPTION]... -p PID [[--] COMMAND [ARGUMENT]...]\n"
          "       sframe-trace record [OPTION]... -a [[--] COMMAND [ARGUMENT]...]\n"
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
          "  sframe-trace record ./program its-argument\n"
          "  sframe-trace record --top --sort=self ./program\n"
          "  sudo sframe-trace record -a --duration=30s\n"
          "  sframe-trace record -p $(pidof -s bash) --flamegraph out.svg\n"
          "  perf report --max-stack 512\n";
  return text.str();
}

}  // namespace sframe_gen::trace
