#include "cli/options.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <sstream>
#include <utility>

#include "sframe_gen/check.hpp"
#include "sframe_gen/code_check.hpp"
#include "support/text.hpp"

namespace sframe_gen::cli {

namespace {

using command_line::Given;
using command_line::number_of;
using sframe::Version;

// In the order in which messages name two of them.
constexpr std::array<std::pair<Action, const char*>, 11> action_options{{{Action::Emit, "emit"},
                                                                         {Action::Remove, "remove"},
                                                                         {Action::Dump, "dump"},
                                                                         {Action::LookUp, "lookup"},
                                                                         {Action::Verify, "verify"},
                                                                         {Action::Check, "check"},
                                                                         {Action::ToCache, "to-cache"},
                                                                         {Action::Launch, "launch"},
                                                                         {Action::Help, "help"},
                                                                         {Action::Version, "version"},
                                                                         {Action::ListReaders, "list-readers"}}};

using Names = std::initializer_list<const char*>;

std::string spelled(std::string_view option) {
  return "--" + std::string(option);
}

void fail_if_both(const Given& given, std::string_view one, Names others) {
  for (const char* const other : others)
    if (given.has(one) && given.has(other))
      throw UsageError(spelled(one) + " cannot be combined with " + spelled(other));
}

void fail_without(const Given& given, std::string_view needed, Names options) {
  for (const char* const option : options)
    if (given.has(option) && !given.has(needed)) throw UsageError(spelled(option) + " requires " + spelled(needed));
}

/// Returns the action, which must be one. --help and --version win over all others.
Action action_of(const Given& given) {
  for (const auto& [candidate, option] : action_options)
    if (is_for_information(candidate) && given.has(option)) return candidate;
  const char* chosen = nullptr;
  Action action = Action::Convert;
  for (const auto& [candidate, option] : action_options) {
    if (!given.has(option)) continue;
    if (chosen != nullptr) fail_if_both(given, chosen, {option});
    chosen = option;
    action = candidate;
  }
  return action;
}

/// --list-readers lists all readers, whatever a FILE or another option asks of one.
void check_alone(const Given& given) {
  for (const command_line::Option& option : option_table())
    if (option.name != "list-readers" && given.has(option.name))
      throw UsageError("--list-readers cannot be combined with " + spelled(option.name));
  if (!given.files().empty()) throw UsageError("--list-readers does not accept FILE");
}

/// Checks which options go together.
void check_uses(const Given& given, Action action) {
  const auto fail_if_with = [&](std::initializer_list<Action> actions, Names options) {
    if (std::ranges::find(actions, action) == actions.end()) return;
    const auto name = std::ranges::find(action_options, action, &std::pair<Action, const char*>::first)->second;
    for (const char* const option : options) fail_if_both(given, option, {name});
  };
  using enum Action;
  fail_if_with({Emit, Remove, Dump, LookUp, Verify, Check, ToCache, Launch}, {"drop-signature", "explain", "no-undo"});
  fail_if_with({Emit, Dump, LookUp, Verify, Check, ToCache, Launch}, {"objects"});
  fail_if_with({Remove, Dump, LookUp, Verify, Check, ToCache, Launch},
               {"from-sframe", "move-headers", "omit-disproved", "synthesize"});
  fail_if_with({Dump, LookUp, Verify, Check, ToCache, Launch}, {"dry-run", "output"});
  fail_if_with({Dump, LookUp, Verify, Check, ToCache}, {"fsync"});
  // sframe-trace reads the cache, too, and makes its sections without options.
  fail_if_with({Remove, Dump, LookUp, Verify, Check, ToCache},
               {"compact", "flexible", "for", "no-padding", "no-stubs", "sframe-version"});
  fail_if_with({Remove, Dump, LookUp, Check, ToCache, Launch}, {"cfi-from"});
  fail_if_with({Emit, Dump, LookUp, Launch}, {"jobs"});
  fail_if_with({Emit, LookUp, Launch}, {"recursive"});
  fail_if_with({Dump, LookUp, ToCache, Launch}, {"report"});
  fail_if_with({Emit, Launch}, {"skip-non-elf"});
  // The options of the command itself say what it reads and writes.
  fail_if_with({Launch}, {"ignore-build-id", "skip-refused"});
  fail_if_both(given, "for", {"sframe-version"});
  fail_if_both(given, "from-sframe", {"cfi-from", "omit-disproved", "synthesize"});
  fail_if_both(given, "linked-only", {"objects"});
  fail_if_both(given, "output", {"dry-run", "recursive"});
  fail_if_both(given, "quiet", {"verbose", "explain"});
  fail_without(given, "emit", {"section-address"});
  fail_without(given, "verify", {"against"});
  fail_without(given, "dump", {"only"});
  fail_without(given, "remove", {"section-only"});
  fail_without(given, "recursive", {"exclude", "linked-only", "objects"});
  fail_without(given, "cfi-from", {"ignore-build-id"});
  for (const char* option : {"cfi-from", "emit", "output"}) {
    if (given.has(option) && given.files().size() > 1) throw UsageError(spelled(option) + " supports only one FILE");
  }
}

const ReaderTarget& reader_named(std::string_view option, const std::string& name) {
  if (const ReaderTarget* const target = find_reader_target(name)) return *target;
  std::vector<std::string> names;
  for (const ReaderTarget& target : reader_targets())
    if (option == "check" || why_no_format(target).empty()) names.emplace_back(target.name);
  const std::string suggestion = command_line::suggestion_for(name, names);
  throw UsageError(spelled(option) + ": unknown reader '" + printable(name) + "'" +
                   (suggestion.empty() ? " (see --list-readers)" : suggestion));
}

OutputFormat format_for(const std::string& name) {
  const ReaderTarget& reader = reader_named("for", name);
  if (!why_no_format(reader).empty()) throw UsageError("--for: " + name + ' ' + std::string(why_no_format(reader)));
  return reader.format;
}

std::uint32_t compact_rows_of(const std::string& text) {
  const auto rows = number_of<std::uint32_t>(text);
  if (!rows || *rows == 0 || *rows > most_compact_rows)
    throw UsageError("--compact: invalid number of rows '" + printable(text) + "' (1 to " +
                     std::to_string(most_compact_rows) + ")");
  return *rows;
}

void check(const OutputFormat& format) {
  if (format.version != Version::V3 && format.flexible == FlexibleDescriptors::Always)
    throw UsageError("--flexible=always requires --sframe-version=3");
}

/// Returns the rows of --compact without a number. Half of the default's FDEs have at most 8 rows, and hardly any gain
/// is left beyond 32. Linux needs two reads of user memory for each row that it scans.
std::uint32_t usual_compact_rows(const std::optional<std::string>& reader) {
  return reader == "kernel" ? 16 : 32;
}

OutputFormat format_of(const Given& given) {
  const std::optional<std::string> reader = given.value_of("for");
  OutputFormat format = reader ? format_for(*reader) : OutputFormat();
  format.version = given.choice_of<Version>("sframe-version").value_or(format.version);
  format.flexible = given.choice_of<FlexibleDescriptors>("flexible").value_or(format.flexible);
  if (const auto rows = given.value_of("compact"))
    format.compact_rows = *rows == "auto" ? usual_compact_rows(reader) : compact_rows_of(*rows);
  if (given.has("no-padding")) format.covers_padding = false;
  check(format);
  return format;
}

/// Decimal, or hexadecimal with 0x.
std::uint64_t address_of(const std::string& text) {
  const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  const auto address =
      hexadecimal ? number_of<std::uint64_t>(std::string_view(text).substr(2), 16) : number_of<std::uint64_t>(text);
  if (!address) throw UsageError("--section-address: invalid address '" + printable(text) + "'");
  constexpr std::uint64_t alignment = 8;
  if (*address % alignment != 0) throw UsageError("--section-address: " + text + " is not a multiple of 8");
  return *address;
}

unsigned job_count_of(const std::string& text) {
  constexpr unsigned most = 1024;
  const auto count = number_of<unsigned>(text);
  if (!count || *count == 0 || *count > most)
    throw UsageError("--jobs: invalid number '" + printable(text) + "' (1 to " + std::to_string(most) + ")");
  return *count;
}

/// "kernel,glibc"; none for "all".
std::vector<const ReaderTarget*> readers_of(const std::string& names) {
  std::vector<const ReaderTarget*> readers;
  if (names == every_reader) return readers;
  std::istringstream list(names);
  for (std::string name; std::getline(list, name, ',');) readers.push_back(&reader_named("check", name));
  return readers;
}

/// Returns none for standard output, which other programs call "-", and for the input.
std::optional<std::filesystem::path> output_of(const Given& given, Action action) {
  const std::optional<std::string> output = given.value_of("output");
  if (output != "-") return output;
  if (action != Action::Emit) throw UsageError("-o - requires --emit (for a file of that name, use -o ./-)");
  return {};
}

/// An empty one, such as a variable that is not set, is part of every path.
std::vector<std::string> excluded_of(const Given& given) {
  std::vector<std::string> parts = given.values_of("exclude");
  if (std::ranges::find(parts, "") != parts.end()) throw UsageError("--exclude: empty argument");
  return parts;
}

/// `option` follows the code.
void check_code_can_be_read(std::string_view option) {
  if (const std::string why = why_no_code_check(); !why.empty()) throw UsageError(spelled(option) + ' ' + why);
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
  options.against = given.choice_of<Witness>("against").value_or(options.against);
  if (options.against == Witness::Code) {
    if (given.has("cfi-from")) throw UsageError("--against=code cannot be combined with --cfi-from");
    check_code_can_be_read("against=code");
  }
  options.convert.omit_disproved = given.has("omit-disproved");
  options.convert.synthesize = given.has("synthesize");
  for (const char* const option : {"omit-disproved", "synthesize"})
    if (given.has(option)) check_code_can_be_read(option);
  options.convert.bounded_tables_only = given.has("bounded-tables-only");
  const bool proves = options.convert.omit_disproved || options.convert.synthesize || options.against == Witness::Code;
  if (options.convert.bounded_tables_only && !proves)
    throw UsageError("--bounded-tables-only requires --against=code, --omit-disproved or --synthesize");
  options.cache = given.value_of("to-cache").value_or(std::string());
  options.section_only = given.has("section-only");
  options.place = given.value_of("lookup").value_or(std::string());
  if (const auto readers = given.value_of("check")) options.readers = readers_of(*readers);
  options.skip_non_elf = given.has("skip-non-elf");
  options.skip_refused = given.has("skip-refused");
  options.explain = given.has("explain");
  options.fsync = given.has("fsync");
  options.recursive = given.has("recursive");
  options.objects = given.has("objects");
  options.linked_only = given.has("linked-only");
  options.excluded = excluded_of(given);
  if (const auto jobs = given.value_of("jobs")) options.jobs = job_count_of(*jobs);
  options.convert.keep_undo_record = !given.has("no-undo");
  options.convert.stubs = !given.has("no-stubs");
  options.quiet = given.has("quiet");
  options.verbose = given.has("verbose");
  options.report = given.choice_of<ReportFormat>("report").value_or(options.report);
  options.convert.count_code = options.verbose || options.explain || options.report == ReportFormat::Json ||
                               (options.recursive && !options.quiet);
}

/// Whether `word` can follow this option and an equals sign.
bool is_value_of(std::string_view option, const std::string& word) {
  if (option == "check") return find_reader_target(word.substr(0, word.find(','))) != nullptr;
  if (option == "dump") return word == "json" || word == "text";
  return number_of<std::uint32_t>(word).has_value();
}

/// Throws UsageError if the first file is meant as the value of an option that takes one after an equals sign only.
void check_not_a_value(const Given& given) {
  if (given.files().empty()) return;
  const std::string& word = given.files().front();
  for (const command_line::Option& option : option_table()) {
    const bool is_alone = !option.argument.alone.empty() && given.value_of(option.name) == option.argument.alone;
    std::error_code ignored;
    if (!is_alone || !is_value_of(option.name, word) || std::filesystem::exists(word, ignored)) continue;
    throw UsageError(printable(word) + ": no such file (use " + spelled(option.name) + '=' + printable(word) + ")");
  }
}

constexpr const char* no_separator =
    "--launch: no -- before the command (use --launch [OPTION]... -- COMPILER ARGUMENT...)";

/// Reads a command line with --launch and no --, whose unknown options are likely those of the command.
Given given_without_separator(int argument_count, const char* const* arguments) {
  const auto is_word = [](std::string_view word) { return !word.starts_with('-'); };
  try {
    return {option_table(), argument_count, arguments};
  } catch (const UsageError&) {
    if (std::any_of(arguments + 1, arguments + argument_count, is_word)) throw UsageError(no_separator);
    throw;
  }
}

void check_work(const Options& options) {
  if (options.action != Action::Launch) {
    if (options.files.empty()) throw UsageError("no file given");
    return;
  }
  if (options.command.empty() && !options.files.empty()) throw UsageError(no_separator);
  if (options.command.empty())
    throw UsageError("--launch requires a command after -- (use --launch [OPTION]... -- COMPILER ARGUMENT...)");
  if (!options.files.empty()) throw UsageError("--launch does not accept FILE, only a command after --");
}

}  // namespace

Options read_command_line(int argument_count, const char* const* arguments) {
  // A command after --launch ... -- has its own options, and empty arguments, which Boost would not keep.
  const char* const* const end = arguments + argument_count;
  const char* const* const separator = std::find(arguments, end, std::string_view("--"));
  const bool launches = std::find(arguments, separator, std::string_view("--launch")) != separator;
  const char* const* const own_end = launches ? separator : end;
  const Given given = launches && separator == end
                          ? given_without_separator(argument_count, arguments)
                          : Given(option_table(), static_cast<int>(own_end - arguments), arguments);
  const Action action = action_of(given);
  Options options;
  options.action = action;
  if (action == Action::ListReaders) check_alone(given);
  if (is_for_information(action)) return options;
  check_uses(given, action);
  take(given, options);
  if (action == Action::Launch && separator != end) options.command.assign(separator + 1, end);
  check_not_a_value(given);
  check_work(options);
  return options;
}

}  // namespace sframe_gen::cli
