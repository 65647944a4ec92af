// Every option of the program, once. The parser, --help, the completions of three shells and the list in the manual
// follow this table.

#include <algorithm>
#include <sstream>

#include "cli/options.hpp"
#include "sframe_gen/convert.hpp"

namespace sframe_gen::cli {

namespace {

using command_line::Argument;
using command_line::ArgumentKind;
using command_line::Choice;
using command_line::file;
using command_line::flag;
using command_line::Option;
using command_line::text;

template <typename Enum>
constexpr Choice choice(std::string_view name, Enum value, std::string_view meaning) {
  return {name, static_cast<int>(value), meaning};
}

constexpr Choice forms_of_emit[]{choice("section", EmitForm::Section, "its bytes"),
                                 choice("asm", EmitForm::Assembly, "text for any assembler")};

constexpr Choice forms_of_dump[]{choice("text", DumpForm::Text, "in the notation of readelf --sframe"),
                                 choice("json", DumpForm::Json, "one JSON object a line for each section")};

constexpr Choice witnesses[]{choice("dwarf", Witness::Dwarf, "the default: .sframe with the DWARF"),
                             choice("code", Witness::Code, "the DWARF with the instructions (x86-64)")};

constexpr Choice versions[]{choice("3", sframe::Version::V3, "the default; binutils 2.46 and later"),
                            choice("2", sframe::Version::V2, "binutils 2.41 to 2.45"),
                            choice("1", sframe::Version::V1, "binutils 2.40"),
                            choice("ctf", sframe::Version::CtfFrame, "CTF Frame, which came before")};

constexpr Choice uses_of_flexible_descriptors[]{
    choice("auto", FlexibleDescriptors::Auto, "except on aarch64"),
    choice("always", FlexibleDescriptors::Always, "wherever a rule needs one"),
    choice("never", FlexibleDescriptors::Never, "leave such rules out")};

constexpr Choice formats_of_report[]{choice("summary", ReportFormat::Summary, "one line a file"),
                                     choice("json", ReportFormat::Json, "one JSON object a line for each file")};

constexpr std::string_view commands = "Commands (without one, each FILE is converted)", files = "Files",
                           format = "Format", report = "Report";

constexpr Argument choose(std::string_view name, std::span<const Choice> choices, std::string_view alone = {}) {
  return {.kind = ArgumentKind::Choice, .name = name, .choices = choices, .alone = alone};
}
constexpr Argument several(std::string_view name) {
  return {.kind = ArgumentKind::Text, .name = name, .repeats = true};
}

constexpr Option table[]{
    {"verify", 0, commands, flag, "compare every row of .sframe with the DWARF"},
    {"against", 0, commands, choose("WITNESS", witnesses), "with --verify, judge by dwarf (default) or code"},
    {"remove", 0, commands, flag, "restore the original file, byte for byte"},
    {"section-only", 0, commands, flag, "with --remove, take .sframe out of changed files"},
    {"check",
     0,
     commands,
     {.kind = ArgumentKind::Reader, .name = "READERS", .alone = every_reader},
     "report which readers support the section"},
    {"dump", 0, commands, choose("STYLE", forms_of_dump, "text"), "print the section as text or json"},
    {"only", 0, commands, several("LOCATION"), "with --dump, print only functions at LOCATION"},
    {"lookup", 0, commands, text("LOCATION"), "print the unwind rule at an address or symbol"},
    {"emit", 0, commands, choose("FORM", forms_of_emit), "write only the section, as section or asm"},
    {"section-address", 0, commands, text("ADDRESS"), "with --emit, where the section will be"},
    {"to-cache", 0, commands, file("DIR"), "put sections for sframe-backtrace in DIR"},
    {"launch", 0, commands, flag, "run the compiler after --, convert its objects"},
    {"list-readers", 0, commands, flag, "print the names for --for and --check"},
    {"help", 'h', commands, flag, "print this help"},
    {"version", 'V', commands, flag, "print the version"},
    {"output", 'o', files, file("FILE"), "write to FILE and leave the input as it is"},
    {"dry-run", 'n', files, flag, "report what would be done, but write nothing"},
    {"recursive", 'r', files, flag, "process linked files, kernel modules in directories"},
    {"exclude", 'X', files, several("PART"), "with -r, skip paths that contain PART"},
    {"objects", 0, files, flag, "with -r, convert objects and archives as well"},
    {"linked-only", 0, files, flag, "with -r, process programs and libraries only"},
    {"jobs", 'j', files, text("N"), "process N files at a time"},
    {"skip-non-elf", 0, files, flag, "skip files that are not ELF or archives"},
    {"skip-refused", 0, files, flag, "skip files that cannot be converted, with a note"},
    {"cfi-from", 0, files, file("FILE"), "also read .debug_frame of a separate debug file"},
    {"ignore-build-id", 0, files, flag, "accept a debug file with another build-id"},
    {"from-sframe", 0, files, flag, "convert the existing section instead of the CFI"},
    {"no-undo", 0, files, flag, "store no undo record for --remove"},
    {"fsync", 0, files, flag, "wait until each file is on the disk"},
    {"move-headers", 0, files, flag, "move program headers that have no space to grow"},
    {"drop-signature", 0, files, flag, "convert signed kernel modules, drop the signature"},
    {"for", 0, format, {.kind = ArgumentKind::Target, .name = "READER"}, "write what READER supports"},
    {"sframe-version", 0, format, choose("VERSION", versions), "write version 3 (default), 2, 1 or ctf"},
    {"compact", 0, format, text("N", "auto"), "write fewer bytes, with up to N rows in an FDE"},
    {"flexible", 0, format, choose("WHEN", uses_of_flexible_descriptors), "write flexible FDEs auto, always or never"},
    {"no-stubs", 0, format, flag, "make no rows from instructions of PLT stubs"},
    {"omit-disproved", 0, format, flag, "make no rows that instructions contradict"},
    {"synthesize", 0, format, flag, "make rows of proved code without CFI (x86-64)"},
    {"bounded-tables-only", 0, format, flag, "prove nothing by unbounded jump tables"},
    {"no-padding", 0, format, flag, "end functions before the padding after them"},
    {"report", 0, report, choose("FORMAT", formats_of_report), "report as summary or json"},
    {"verbose", 'v', report, flag, "list uncovered functions and the layout"},
    {"explain", 0, report, flag, "list possible layouts and code without rows"},
    {"quiet", 'q', report, flag, "print errors only"},
};

}  // namespace

std::span<const Option> option_table() {
  return table;
}

std::string help_text() {
  return "Usage: sframe-gen [OPTION]... FILE...\n"
         "Add an .sframe section, made from call frame information (CFI), to ELF files. Each is replaced "
         "atomically.\n" +
         described(table) +
         "\nExamples:\n"
         "  sframe-gen a.out                      convert in place\n"
         "  sframe-gen --for=glibc a.out          convert for backtrace() of glibc 2.42\n"
         "  sframe-gen --verify a.out             compare the result with the DWARF\n"
         "  sframe-gen -r --skip-refused root     convert all programs and libraries in root\n"
         "\nExit status: 0 success, 1 a file failed or differs, 2 wrong usage, 3 --verify could not check every row.\n";
}

std::string readers_text() {
  std::ostringstream text;
  for (const ReaderTarget& target : reader_targets()) {
    std::string name(target.name);
    name.resize(std::max<std::size_t>(name.size() + 2, 16), ' ');
    text << name << target.meaning << '\n';
  }
  return text.str();
}

std::string version_text() {
  return "sframe-gen " SFRAME_GEN_VERSION " (writes SFrame 3, 2 and 1 and CTF Frame for AMD64, AArch64 and s390x)\n";
}

}  // namespace sframe_gen::cli
