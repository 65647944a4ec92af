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

constexpr std::string_view instead = "Instead of converting", files = "Files", format = "Format", report = "Report";

constexpr Argument choose(std::string_view name, std::span<const Choice> choices, std::string_view preset = {},
                          std::string_view alone = {}) {
  return {.kind = ArgumentKind::Choice, .name = name, .choices = choices, .preset = preset, .alone = alone};
}
constexpr Argument reader(std::string_view name, std::string_view alone = {}) {
  return {.kind = ArgumentKind::Reader, .name = name, .alone = alone};
}
constexpr Argument several(std::string_view name) {
  return {.kind = ArgumentKind::Text, .name = name, .repeats = true};
}

constexpr Option table[]{
    {"emit", 0, instead, choose("FORM", forms_of_emit),
     "write the section itself, to OUT or standard output, and leave FILE as it is: 'section', its bytes, or 'asm', an "
     "assembly file for any assembler",
     "write the section by itself"},
    {"section-address", 0, instead, text("ADDRESS"),
     "with --emit: where the section of a linked file will be; the default is where FILE has one, else where a "
     "conversion would put it",
     "the address that the section is for"},
    {"remove", 0, instead, flag, "take the section out again: gives back, byte for byte, the file that was converted",
     "take the section out again"},
    {"dump", 0, instead, choose("STYLE", forms_of_dump, {}, "text"),
     "print what the .sframe section of each FILE says: 'text' (the default), in the notation of readelf --sframe, or "
     "'json', an object a line for each section",
     "print what the section says"},
    {"only", 0, instead, several("PLACE"),
     "with --dump: only functions that reach into PLACE, as with --lookup or BEGIN..END; may be given again",
     "dump the functions at a place"},
    {"lookup", 0, instead, text("PLACE"),
     "say in a line how to unwind from PLACE, by the .sframe section of each FILE: an address, or SYMBOL[+OFFSET], or "
     "in an object SECTION[+OFFSET]",
     "say how to unwind from a place"},
    {"verify", 0, instead, flag, "check every row of each FILE's .sframe against its DWARF, PC by PC",
     "check every row against the DWARF"},
    {"check", 0, instead, reader("READERS", every_reader),
     "say which READERS (names with commas between, see below) take each FILE's .sframe, and why others do not; "
     "without names, all that read such files",
     "say which readers take the section"},
    {"launch", 0, instead, flag, "run the compiler command behind -- and, if it made objects, convert them in place",
     "run the compiler behind -- and convert the objects it makes"},
    {"output", 'o', files, file("OUT"), "write to OUT and leave the input as it is (one FILE only)",
     "write to another file"},
    {"recursive", 'r', files, flag,
     "each FILE is a folder: work on every ELF file and archive below it, and sum up at the end",
     "work on all files below folders"},
    {"exclude", 'X', files, several("PART"),
     "with --recursive: leave out files whose path below the folder contains PART; may be given again",
     "leave out paths that contain a text"},
    {"linked-only", 0, files, flag, "with --recursive: leave objects and archives as they are",
     "leave objects and archives alone"},
    {"jobs", 'j', files, text("N"),
     "work on N files at a time; the default is the cores it may run on, and N changes no output",
     "work on so many files at a time"},
    {"dry-run", 'n', files, flag, "convert and report, but write nothing", "write nothing"},
    {"no-undo", 0, files, flag,
     "keep nothing for --remove in linked files: for packages, whose files are stripped later",
     "keep nothing for --remove"},
    {"cfi-from", 0, files, file("DEBUG"),
     "also read .debug_frame of DEBUG, a separate debug file with the same build-id",
     "also read .debug_frame of a separate debug file"},
    {"from-sframe", 0, files, flag,
     "take the rows of the section that FILE has, of any version, instead of its call frame information",
     "take the rows of the section that is there"},
    {"ignore-build-id", 0, files, flag, "take the --cfi-from file even if its build-id differs or is missing",
     "take the debug file even if its build-id differs"},
    {"skip-non-elf", 0, files, flag, "pass over files that are neither ELF nor archives instead of failing on them",
     "pass over files that are not ELF"},
    {"skip-refused", 0, files, flag,
     "pass over files that cannot be done for a stated reason, with a note, instead of failing",
     "pass over files that cannot be done for a stated reason"},
    {"move-headers", 0, files, flag,
     "where a linked file has no room for more program headers, move them to its end; never strip it then",
     "move program headers that have no room to grow"},
    {"drop-signature", 0, files, flag,
     "convert signed kernel modules, and take the signature away, which would be wrong then",
     "convert signed kernel modules, without their signature"},
    {"for", 0, format, reader("READER"), "write what READER takes: version and flags in one word, see below",
     "write what a reader takes"},
    {"sframe-version", 0, format, choose("VERSION", versions),
     "write SFrame version 3 (the default), 2 or 1, or 'ctf' for CTF Frame, which came before them",
     "choose the version of the format"},
    {"no-pcrel", 0, format, flag,
     "version 2 for readers older than its errata: function starts relative to the section, and --no-ra-undefined",
     "version 2 for readers older than its errata"},
    {"no-ra-undefined", 0, format, flag,
     "leave outermost frames out instead of writing rows without words (version 2, erratum 2)",
     "leave outermost frames out"},
    {"no-stubs", 0, format, flag,
     "rows from call frame information only, none from the instructions of PLT stubs and start code",
     "no rows from instructions"},
    {"flexible", 0, format, choose("WHEN", uses_of_flexible_descriptors),
     "version 3: use flexible descriptors 'always', 'never', or ('auto', the default) except on aarch64, where no "
     "reader has met one",
     "use flexible descriptors"},
    {"compact", 0, format, text("N", "32"),
     "say the same rows in few bytes: neighbouring functions in one descriptor of at most N rows (32, from 1 to 64), "
     "and equal rows stored once",
     "take few bytes"},
    {"report", 0, report, choose("FORMAT", formats_of_report, "summary"),
     "summary: one line a file; json: one JSON object a line for each file, with the coverage and every reason",
     "choose the form of the report"},
    {"explain", 0, report, flag,
     "name each plan for the rewrite with what it would do or why it does not work, and the one taken; and all code "
     "that no call frame information or no row describes",
     "name each plan for the rewrite, and code without rows"},
    {"quiet", 'q', report, flag, "print errors only", "print errors only"},
    {"verbose", 'v', report, flag,
     "name each function that is left out, the plan of the rewrite, and how much code has no row",
     "name each function that is left out"},
    {"help", 'h', report, flag, "print this and exit", "print help"},
    {"version", 'V', report, flag, "print the version and exit", "print the version"},
};

/// The names --for takes, one line each.
std::string described_readers() {
  std::ostringstream text;
  for (const ReaderTarget& target : reader_targets()) {
    std::string name(target.name);
    name.resize(std::max<std::size_t>(name.size(), 14), ' ');
    text << "  " << name << "  " << target.meaning << '\n';
  }
  return text.str();
}

}  // namespace

std::span<const Option> option_table() {
  return table;
}

std::string help_text() {
  return "Usage: sframe-gen [OPTION]... FILE...\n"
         "       sframe-gen --launch [OPTION]... -- COMPILER ARGUMENT...\n"
         "Give ELF files for x86-64, aarch64 and s390x a loaded .sframe section, made from the call frame\n"
         "information they carry in .eh_frame and .debug_frame, so that profilers can walk their stacks fast.\n"
         "Programs and libraries are ready then; an object's section is merged by the linker.\n"
         "Each FILE is replaced atomically, or left exactly as it was and the reason given.\n" +
         described(table) + "\nReaders that --for and --check know:\n" + described_readers() +
         "\nExamples:\n"
         "  sframe-gen a.out                        in place\n"
         "  sframe-gen -o b.out a.out               leave a.out as it is\n"
         "  sframe-gen --skip-non-elf usr/bin/* usr/lib/*.so*   a whole package\n"
         "  sframe-gen libfoo.a                     each member of a static library\n"
         "  sframe-gen --for=glibc a.out            for backtrace() of glibc 2.42 instead of the kernel\n"
         "  sframe-gen a.o                          an object, for GNU ld 2.46 or mold 2.42 or later\n"
         "  sframe-gen --remove a.out               a.out as it was\n"
         "  sframe-gen --emit=asm foo.o | cat foo.s - | as -o with.o  .sframe for an assembler that writes none\n"
         "  sframe-gen --verify b.out               does every row say what the DWARF says?\n"
         "  sframe-gen --check=kernel,glibc b.out   do these readers take the section?\n"
         "  sframe-gen --launch -- gcc -c a.c       compile, and convert a.o\n"
         "  sframe-gen --report=json -n a.out       what would be covered, and what not and why\n"
         "\nExit status: 0 all done; 1 a file failed, --verify found a difference, or a reader that\n"
         "--check asked does not take the section; 2 wrong usage;\n"
         "3 --verify found no difference, but there are rows that it could not check.\n";
}

std::string version_text() {
  return "sframe-gen " SFRAME_GEN_VERSION " (writes SFrame 3, 2 and 1 and CTF Frame for AMD64, AArch64 and s390x)";
}

}  // namespace sframe_gen::cli
