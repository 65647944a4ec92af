#include "cli/options.hpp"

#include <boost/program_options.hpp>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <string_view>

#include "cli/format_options.hpp"

namespace po = boost::program_options;

namespace sframe_gen::cli {

namespace {

po::options_description visible_options() {
  po::options_description all("Options", 100, 60);
  auto option = all.add_options();
  option("output,o", po::value<std::string>()->value_name("OUT"),
         "write to OUT and leave the input as it is (one FILE only)");
  option(
      "emit", po::value<std::string>()->value_name("FORM"),
      "write the section itself, to OUT or standard output, and leave FILE as it is: 'section', its bytes, or 'asm', "
      "an assembly file for any assembler");
  option("section-address", po::value<std::string>()->value_name("ADDRESS"),
         "with --emit: where the section of a linked file will be; the default is where FILE has one, else where a "
         "conversion would put it");
  option("remove", "take the section out again: gives back, byte for byte, the file that was converted");
  option("dump", "print what the .sframe section of each FILE says, in the notation of readelf --sframe");
  option("verify", "check every row of each FILE's .sframe against its DWARF, PC by PC");
  option("report", po::value<std::string>()->value_name("FORMAT")->default_value("summary"),
         "summary: one line a file; json: one JSON object a line for each file, with the coverage and every reason");
  option("cfi-from", po::value<std::string>()->value_name("DEBUG"),
         "also read .debug_frame of DEBUG, a separate debug file with the same build-id");
  option("ignore-build-id", "take the --cfi-from file even if its build-id differs or is missing");
  option("skip-non-elf", "pass over files that are neither ELF nor archives instead of failing on them");
  option("skip-refused", "pass over files that cannot be done for a stated reason, with a note, instead of failing");
  add_format_options(all);
  option("drop-signature", "convert signed kernel modules, and take the signature away, which would be wrong then");
  option("dry-run,n", "convert and report, but write nothing");
  option("explain", "name each plan for the rewrite with what it would do or why it does not work, and the one taken");
  option("launch", "run the compiler command behind -- and, if it made objects, convert them in place");
  option("quiet,q", "print errors only");
  option("verbose,v", "name each function that is left out, and the plan of the rewrite");
  option("help,h", "print this and exit");
  option("version,V", "print the version and exit");
  return all;
}

/// Paths are read as strings: with spaces in them, path's own extraction operator would stop at the first.
po::variables_map parse(int argument_count, const char* const* arguments) {
  po::options_description all = visible_options();
  all.add_options()("file", po::value<std::vector<std::string>>());
  po::positional_options_description positional;
  positional.add("file", -1);
  namespace style = po::command_line_style;
  po::variables_map values;
  try {
    po::store(po::command_line_parser(argument_count, arguments)
                  .options(all)
                  .positional(positional)
                  .style(style::unix_style & ~style::allow_guessing)
                  .run(),
              values);
    po::notify(values);
  } catch (const po::error& error) {
    throw UsageError(error.what());
  }
  return values;
}

Action action_of(const po::variables_map& values) {
  if (values.count("help") != 0) return Action::Help;
  if (values.count("version") != 0) return Action::Version;
  Action action = Action::Convert;
  std::string chosen;
  for (const auto& [name, its_action] : {std::pair{"emit", Action::Emit},
                                         {"remove", Action::Remove},
                                         {"dump", Action::Dump},
                                         {"verify", Action::Verify},
                                         {"launch", Action::Launch}}) {
    if (values.count(name) == 0) continue;
    if (!chosen.empty()) throw UsageError("--" + chosen + " and --" + name + " exclude each other");
    chosen = name;
    action = its_action;
  }
  return action;
}

ReportFormat report_of(const std::string& name) {
  if (name == "summary") return ReportFormat::Summary;
  if (name == "json") return ReportFormat::Json;
  throw UsageError("--report is 'summary' or 'json', not '" + name + "'");
}

EmitForm emit_form_of(const std::string& name) {
  if (name == "section") return EmitForm::Section;
  if (name == "asm") return EmitForm::Assembly;
  throw UsageError("--emit is 'section' or 'asm', not '" + name + "'");
}

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

void check_emit(const Options& options) {
  if (options.action != Action::Emit) {
    if (options.section_address) throw UsageError("--section-address goes with --emit only");
    return;
  }
  if (options.files.size() != 1) throw UsageError("--emit takes exactly one input file");
  if (options.skip_non_elf) throw UsageError("--emit and --skip-non-elf exclude each other");
}

void check(const Options& options) {
  if (options.files.empty()) throw UsageError("no file given");
  check_emit(options);
  const bool writes =
      options.action == Action::Convert || options.action == Action::Emit || options.action == Action::Remove;
  if (!writes && (options.output || options.convert.dry_run))
    throw UsageError("--output and --dry-run go with converting, --emit and --remove only");
  if (options.action != Action::Convert && options.explain) throw UsageError("--explain goes with converting only");
  if (options.action != Action::Convert && options.convert.drop_signature)
    throw UsageError("--drop-signature goes with converting only");
  if (options.output && options.files.size() != 1) throw UsageError("--output takes exactly one input file");
  if (options.output && options.convert.dry_run) throw UsageError("--output and --dry-run exclude each other");
  if (options.action == Action::Dump && options.convert.debug_file)
    throw UsageError("--cfi-from does not go with --dump");
  if (options.action == Action::Remove && options.convert.debug_file)
    throw UsageError("--cfi-from does not go with --remove");
  if (options.convert.debug_file && options.files.size() != 1)
    throw UsageError("--cfi-from takes exactly one input file");
  if (options.convert.ignore_build_id && !options.convert.debug_file)
    throw UsageError("--ignore-build-id goes with --cfi-from only");
  if (options.quiet && options.verbose) throw UsageError("--quiet and --verbose exclude each other");
  if (options.quiet && options.explain) throw UsageError("--quiet and --explain exclude each other");
}

/// The command's own options say what it reads and writes.
void check_launch(const po::variables_map& values, const Options& options) {
  if (options.command.empty())
    throw UsageError("--launch takes a command behind --: --launch [OPTION]... -- COMPILER ARGUMENT...");
  if (!options.files.empty()) throw UsageError("--launch takes no file, only a command behind --");
  for (const char* other : {"output", "cfi-from", "ignore-build-id", "skip-non-elf", "skip-refused", "drop-signature",
                            "dry-run", "explain", "section-address"}) {
    if (values.count(other) != 0) throw UsageError("--launch and --" + std::string(other) + " exclude each other");
  }
  if (!values["report"].defaulted()) throw UsageError("--launch and --report exclude each other");
  if (options.quiet && options.verbose) throw UsageError("--quiet and --verbose exclude each other");
}

}  // namespace

Options read_command_line(int argument_count, const char* const* arguments) {
  // A command behind --launch ... -- has options of its own, and empty arguments, which Boost would not keep.
  const char* const* const end = arguments + argument_count;
  const char* const* const separator = std::find(arguments, end, std::string_view("--"));
  const bool launches = std::find(arguments, separator, std::string_view("--launch")) != separator;
  const char* const* const own_end = launches ? separator : end;
  const po::variables_map values = parse(static_cast<int>(own_end - arguments), arguments);
  Options options;
  options.action = action_of(values);
  if (options.action == Action::Help || options.action == Action::Version) return options;
  if (values.count("file") != 0) {
    for (const std::string& file : values["file"].as<std::vector<std::string>>()) options.files.emplace_back(file);
  }
  if (values.count("output") != 0) options.output = values["output"].as<std::string>();
  if (values.count("cfi-from") != 0) options.convert.debug_file = values["cfi-from"].as<std::string>();
  options.convert.ignore_build_id = values.count("ignore-build-id") != 0;
  options.skip_non_elf = values.count("skip-non-elf") != 0;
  options.skip_refused = values.count("skip-refused") != 0;
  options.convert.drop_signature = values.count("drop-signature") != 0;
  options.explain = values.count("explain") != 0;
  options.convert.dry_run = values.count("dry-run") != 0;
  options.quiet = values.count("quiet") != 0;
  options.verbose = values.count("verbose") != 0;
  const bool makes_rows =
      options.action == Action::Convert || options.action == Action::Emit || options.action == Action::Launch;
  if (has_format_options(values) && !makes_rows)
    throw UsageError("options that choose a format go with converting, --emit and --launch only");
  if (options.action == Action::Emit) options.emit = emit_form_of(values["emit"].as<std::string>());
  if (values.count("section-address") != 0)
    options.section_address = address_of(values["section-address"].as<std::string>());
  options.convert.format = format_of(values);
  options.report = report_of(values["report"].as<std::string>());
  if (options.action == Action::Launch) {
    if (separator != end) options.command.assign(separator + 1, end);
    check_launch(values, options);
  } else {
    check(options);
  }
  return options;
}

std::string help_text() {
  std::ostringstream text;
  text << "Usage: sframe-gen [OPTION]... FILE...\n"
          "       sframe-gen --launch [OPTION]... -- COMPILER ARGUMENT...\n"
          "Give ELF files for x86-64, aarch64 and s390x a loaded .sframe section, made from the call frame\n"
          "information they carry in .eh_frame and .debug_frame, so that profilers can walk their stacks fast.\n"
          "Programs and libraries are ready then; an object's section is merged by the linker.\n"
          "Each FILE is replaced atomically, or left exactly as it was and the reason given.\n\n"
       << visible_options() << "\nReaders that --for knows:\n"
       << reader_target_help()
       << "\nExamples:\n"
          "  sframe-gen a.out                        in place\n"
          "  sframe-gen -o b.out a.out               leave a.out as it is\n"
          "  sframe-gen --skip-non-elf usr/bin/* usr/lib/*.so*   a whole package\n"
          "  sframe-gen libfoo.a                     each member of a static library\n"
          "  sframe-gen --for=glibc a.out            for backtrace() of glibc 2.42 instead of the kernel\n"
          "  sframe-gen a.o                          an object, for GNU ld 2.46 or mold 2.42 or later\n"
          "  sframe-gen --remove a.out               a.out as it was\n"
          "  sframe-gen --emit=asm foo.o | cat foo.s - | as -o foo.o   .sframe for an assembler that writes none\n"
          "  sframe-gen --verify b.out               does every row say what the DWARF says?\n"
          "  sframe-gen --launch -- gcc -c a.c       compile, and convert a.o\n"
          "  sframe-gen --report=json -n a.out       what would be covered, and what not and why\n"
          "\nExit status: 0 all done; 1 a file failed, or --verify found a difference; 2 wrong usage.\n";
  return text.str();
}

}  // namespace sframe_gen::cli
