#include "cli/options.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <sstream>
#include <utility>

namespace sframe_gen::cli {

namespace {

using command_line::Given;
using command_line::number_of;
using sframe::Version;

// In the order in which messages name two of them.
constexpr std::array<std::pair<Action, std::string_view>, 9> action_options{{{Action::Emit, "emit"},
                                                                             {Action::Remove, "remove"},
                                                                             {Action::Dump, "dump"},
                                                                             {Action::LookUp, "lookup"},
                                                                             {Action::Verify, "verify"},
                                                                             {Action::Check, "check"},
                                                                             {Action::Launch, "launch"},
                                                                             {Action::Help, "help"},
                                                                             {Action::Version, "version"}}};

std::string_view option_for(Action action) {
  return std::ranges::find(action_options, action, &std::pair<Action, std::string_view>::first)->second;
}

std::string spelled(std::string_view option) {
  return "--" + std::string(option);
}

void fail_if_both(const Given& given, std::string_view one, std::string_view other) {
  if (given.has(one) && given.has(other))
    throw UsageError(spelled(one) + " and " + spelled(other) + " exclude each other");
}

/// Returns the action, which must be one. --help and --version win over all others.
Action action_of(const Given& given) {
  if (given.has("help")) return Action::Help;
  if (given.has("version")) return Action::Version;
  Action chosen = Action::Convert;
  for (const auto& [action, option] : action_options) {
    if (!given.has(option)) continue;
    if (chosen != Action::Convert) fail_if_both(given, option_for(chosen), option);
    chosen = action;
  }
  return chosen;
}

void check_exclusions(const Given& given) {
  fail_if_both(given, "emit", "skip-non-elf");
  for (const char* other : {"sframe-version", "no-pcrel", "no-ra-undefined"}) fail_if_both(given, "for", other);
  fail_if_both(given, "from-sframe", "cfi-from");
  // The options of the command itself say what it reads and writes.
  for (const char* other : {"output", "cfi-from", "ignore-build-id", "skip-non-elf", "skip-refused", "move-headers",
                            "drop-signature", "dry-run", "explain", "section-address", "report", "jobs"})
    fail_if_both(given, "launch", other);
  fail_if_both(given, "output", "dry-run");
  for (const char* other : {"verbose", "explain"}) fail_if_both(given, "quiet", other);
  fail_if_both(given, "recursive", "output");
}

/// Checks each option against the action and what it needs.
void check_uses(const Given& given, Action action) {
  const auto action_is = [&](std::initializer_list<Action> actions) {
    return std::ranges::find(actions, action) != actions.end();
  };
  const auto fail_unless = [&](bool right, std::string_view option, const char* with) {
    if (given.has(option) && !right) throw UsageError(spelled(option) + " goes with " + with + " only");
  };
  const auto fail_if = [&](bool wrong, std::string_view option) {
    if (given.has(option) && wrong)
      throw UsageError(spelled(option) + " does not go with " + spelled(option_for(action)));
  };
  using enum Action;
  fail_if(action_is({Dump, LookUp, Check, Remove}), "cfi-from");
  fail_if(action_is({Emit, Dump, LookUp}), "jobs");
  fail_if(action_is({Dump, LookUp}), "report");
  for (const char* option : {"drop-signature", "explain", "no-undo"})
    fail_unless(action == Convert, option, "converting");
  for (const char* option : {"from-sframe", "move-headers"})
    fail_unless(action_is({Convert, Emit}), option, "converting and --emit");
  fail_unless(action_is({Convert, Remove, Dump, Verify, Check}), "recursive",
              "converting, --remove, --dump, --verify and --check");
  fail_unless(action == Emit, "section-address", "--emit");
  for (const char* option : {"dry-run", "output"}) {
    if (given.has(option) && !action_is({Convert, Emit, Remove}))
      throw UsageError("--output and --dry-run go with converting, --emit and --remove only");
  }
  for (const char* option :
       {"compact", "flexible", "for", "no-pcrel", "no-ra-undefined", "no-stubs", "sframe-version"}) {
    if (given.has(option) && !action_is({Convert, Emit, Launch}))
      throw UsageError("options that choose a format go with converting, --emit and --launch only");
  }
  for (const char* option : {"exclude", "linked-only"}) fail_unless(given.has("recursive"), option, "--recursive");
  fail_unless(given.has("cfi-from"), "ignore-build-id", "--cfi-from");
  fail_unless(given.has("dump"), "only", "--dump");
  for (const char* option : {"cfi-from", "emit", "output"}) {
    if (given.has(option) && given.files().size() > 1)
      throw UsageError(spelled(option) + " takes exactly one input file");
  }
}

OutputFormat format_of_reader(const std::string& name) {
  const ReaderTarget* const target = find_reader_target(name);
  if (target == nullptr) throw UsageError("--for knows no '" + name + "'; --help lists what it knows");
  return target->format;
}

OutputFormat format_in_detail(const Given& given) {
  OutputFormat format;
  format.version = given.choice_of<Version>("sframe-version").value_or(format.version);
  format.pc_relative_starts = !given.has("no-pcrel");
  // Erratum 2 came after erratum 1: readers that lack the first lack both, and read garbage from the second's rows.
  format.undefined_ra_rows = !given.has("no-ra-undefined") && format.pc_relative_starts;
  return format;
}

std::uint32_t compact_rows_of(const std::string& text) {
  const auto rows = number_of<std::uint32_t>(text);
  if (!rows || *rows == 0 || *rows > most_compact_rows)
    throw UsageError("--compact is a number of rows from 1 to " + std::to_string(most_compact_rows) + ", not '" + text +
                     "'");
  return *rows;
}

void check(const OutputFormat& format) {
  if (format.version != Version::V2 && !format.pc_relative_starts)
    throw UsageError("--no-pcrel goes with --sframe-version=2 only");
  if (format.version != Version::V2 && format.version != Version::V3 && !format.undefined_ra_rows)
    throw UsageError("--no-ra-undefined goes with --sframe-version=2 and 3 only: its elders have no such rows");
  if (format.version != Version::V3 && format.flexible == FlexibleDescriptors::Always)
    throw UsageError("--flexible=always goes with --sframe-version=3 only: its elders have no flexible descriptors");
}

OutputFormat format_of(const Given& given) {
  const std::optional<std::string> reader = given.value_of("for");
  OutputFormat format = reader ? format_of_reader(*reader) : format_in_detail(given);
  format.flexible = given.choice_of<FlexibleDescriptors>("flexible").value_or(format.flexible);
  if (const auto rows = given.value_of("compact")) format.compact_rows = compact_rows_of(*rows);
  check(format);
  return format;
}

/// Decimal, or hexadecimal with 0x.
std::uint64_t address_of(const std::string& text) {
  const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  const auto address =
      hexadecimal ? number_of<std::uint64_t>(std::string_view(text).substr(2), 16) : number_of<std::uint64_t>(text);
  if (!address) throw UsageError("--section-address is a number, not '" + text + "'");
  constexpr std::uint64_t alignment = 8;
  if (*address % alignment != 0) throw UsageError("--section-address is a multiple of 8, not " + text);
  return *address;
}

unsigned job_count_of(const std::string& text) {
  constexpr unsigned most = 1024;
  const auto count = number_of<unsigned>(text);
  if (!count || *count == 0 || *count > most)
    throw UsageError("--jobs is a number from 1 to " + std::to_string(most) + ", not '" + text + "'");
  return *count;
}

/// "kernel,glibc"; none for "all".
std::vector<const ReaderTarget*> readers_of(const std::string& names) {
  std::vector<const ReaderTarget*> readers;
  if (names == every_reader) return readers;
  std::istringstream list(names);
  for (std::string name; std::getline(list, name, ',');) {
    const ReaderTarget* const reader = find_reader_target(name);
    if (reader == nullptr) throw UsageError("--check knows no '" + name + "'; --help lists what it knows");
    readers.push_back(reader);
  }
  return readers;
}

/// None: standard output, which other programs call "-", or the input.
std::optional<std::filesystem::path> output_of(const Given& given, Action action) {
  const std::optional<std::string> output = given.value_of("output");
  if (output != "-") return output;
  if (action != Action::Emit) throw UsageError("--output is a file ('./-', if that is its name)");
  return {};
}

/// An empty one, such as a variable that is not set, is part of every path.
std::vector<std::string> excluded_of(const Given& given) {
  std::vector<std::string> parts = given.values_of("exclude");
  if (std::ranges::find(parts, "") != parts.end()) throw UsageError("--exclude is a part of a path, not ''");
  return parts;
}

void take(const Given& given, Options& options) {
  options.files.assign(given.files().begin(), given.files().end());
  options.output = output_of(given, options.action);
  options.convert.format = format_of(given);
  options.convert.debug_file = given.value_of("cfi-from");
  options.convert.from_section = given.has("from-sframe");
  options.convert.ignore_build_id = given.has("ignore-build-id");
  options.convert.drop_signature = given.has("drop-signature");
  options.convert.move_headers = given.has("move-headers");
  options.convert.dry_run = given.has("dry-run");
  options.emit = given.choice_of<EmitForm>("emit").value_or(options.emit);
  if (const auto address = given.value_of("section-address")) options.section_address = address_of(*address);
  options.dump = given.choice_of<DumpForm>("dump").value_or(options.dump);
  options.only = given.values_of("only");
  options.place = given.value_of("lookup").value_or(std::string());
  if (const auto readers = given.value_of("check")) options.readers = readers_of(*readers);
  options.skip_non_elf = given.has("skip-non-elf");
  options.skip_refused = given.has("skip-refused");
  options.explain = given.has("explain");
  options.recursive = given.has("recursive");
  options.linked_only = given.has("linked-only");
  options.excluded = excluded_of(given);
  if (const auto jobs = given.value_of("jobs")) options.jobs = job_count_of(*jobs);
  options.convert.keep_way_back = !given.has("no-undo");
  options.convert.stubs = !given.has("no-stubs");
  options.quiet = given.has("quiet");
  options.verbose = given.has("verbose");
  options.report = given.choice_of<ReportFormat>("report").value_or(options.report);
  options.convert.count_code = options.verbose || options.explain || options.report == ReportFormat::Json;
}

void check_work(const Options& options) {
  if (options.action != Action::Launch) {
    if (options.files.empty()) throw UsageError("no file given");
    return;
  }
  if (options.command.empty())
    throw UsageError("--launch takes a command behind --: --launch [OPTION]... -- COMPILER ARGUMENT...");
  if (!options.files.empty()) throw UsageError("--launch takes no file, only a command behind --");
}

}  // namespace

Options read_command_line(int argument_count, const char* const* arguments) {
  // A command after --launch ... -- has its own options, and empty arguments, which Boost would not keep.
  const char* const* const end = arguments + argument_count;
  const char* const* const separator = std::find(arguments, end, std::string_view("--"));
  const bool launches = std::find(arguments, separator, std::string_view("--launch")) != separator;
  const char* const* const own_end = launches ? separator : end;
  const Given given(option_table(), static_cast<int>(own_end - arguments), arguments);
  const Action action = action_of(given);
  Options options;
  options.action = action;
  if (action == Action::Help || action == Action::Version) return options;
  check_exclusions(given);
  check_uses(given, action);
  take(given, options);
  if (action == Action::Launch && separator != end) options.command.assign(separator + 1, end);
  check_work(options);
  return options;
}

}  // namespace sframe_gen::cli
