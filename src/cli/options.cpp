#include "cli/options.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <string_view>

#include "cli/format_options.hpp"
#include "cli/given_options.hpp"

namespace sframe_gen::cli {

namespace {

/// Decimal, or hexadecimal with 0x.
std::uint64_t address_of(const std::string& text) {
  const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  const char* const begin = text.data() + (hexadecimal ? 2 : 0);
  const char* const end = text.data() + text.size();
  std::uint64_t address = 0;
  const auto [stop, error] = std::from_chars(begin, end, address, hexadecimal ? 16 : 10);
  if (error != std::errc() || stop != end) throw UsageError("--section-address is a number, not '" + text + "'");
  constexpr std::uint64_t alignment = 8;
  if (address % alignment != 0) throw UsageError("--section-address is a multiple of 8, not " + text);
  return address;
}

unsigned job_count_of(const std::string& text) {
  unsigned count = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  constexpr unsigned most = 1024;
  if (error != std::errc() || stop != text.data() + text.size() || count == 0 || count > most)
    throw UsageError("--jobs is a number from 1 to " + std::to_string(most) + ", not '" + text + "'");
  return count;
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

/// "-" is what other programs call standard output, and nobody means a file of that name.
std::optional<std::filesystem::path> output_of(const GivenOptions& given, Action action) {
  const std::optional<std::string> output = given.value_of("output");
  if (output != "-") return output;
  if (action != Action::Emit) throw UsageError("--output is a file ('./-', if that is its name)");
  return {};
}

/// An empty one, as of a variable that is not set, is a part of every path.
std::vector<std::string> excluded_of(const GivenOptions& given) {
  std::vector<std::string> parts = given.values_of("exclude");
  if (std::ranges::find(parts, "") != parts.end()) throw UsageError("--exclude is a part of a path, not ''");
  return parts;
}

void take(const GivenOptions& given, Options& options) {
  options.files.assign(given.files.begin(), given.files.end());
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
  // A command behind --launch ... -- has options of its own, and empty arguments, which Boost would not keep.
  const char* const* const end = arguments + argument_count;
  const char* const* const separator = std::find(arguments, end, std::string_view("--"));
  const bool launches = std::find(arguments, separator, std::string_view("--launch")) != separator;
  const char* const* const own_end = launches ? separator : end;
  const GivenOptions given = read_given_options(static_cast<int>(own_end - arguments), arguments);
  const Action action = action_of(given);
  Options options;
  options.action = action;
  if (action == Action::Help || action == Action::Version) return options;
  check_together(given, action);
  take(given, options);
  if (action == Action::Launch && separator != end) options.command.assign(separator + 1, end);
  check_work(options);
  return options;
}

}  // namespace sframe_gen::cli
