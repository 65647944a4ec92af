#include "cli/option_table.hpp"

#include <algorithm>
#include <cassert>

#include "cli/options.hpp"
#include "sframe_gen/convert.hpp"

namespace sframe_gen::cli {

namespace {

template <typename Enum>
constexpr Choice choice(std::string_view name, Enum value, std::string_view meaning, std::string_view manual = {}) {
  return {name, static_cast<int>(value), meaning, manual};
}

constexpr Limit converting{{Action::Convert}, {}};
constexpr Limit emitting{{Action::Emit}, {}};
constexpr Limit reading_rows{{Action::Convert, Action::Emit}, {}};
constexpr Limit writing{{Action::Convert, Action::Emit, Action::Remove}, "--output and --dry-run"};
constexpr Limit working_on_files{{Action::Convert, Action::Remove, Action::Dump, Action::Verify, Action::Check}, {}};
constexpr Limit making_rows{{Action::Convert, Action::Emit, Action::Launch}, "options that choose a format"};

constexpr Choice forms_of_emit[]{
    choice("section", EmitForm::Section, "its bytes", "The bytes of the section of a linked file."),
    choice("asm", EmitForm::Assembly, "text for any assembler",
           "An assembly file that GNU as and clang's assembler turn into the section, with a comment "
           "for each row. Made of an object, it is to be assembled behind the object's own source, "
           "whose sections it names; the result is what a conversion of the object gives. Made of a "
           "linked file, it holds numbers, and the symbol *sframe_section_address*, which *--defsym* "
           "of the assembler can set otherwise.")};

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

constexpr std::string_view excluded_by_emit[]{"skip-non-elf"};

constexpr std::string_view excluded_by_launch[]{"output",       "cfi-from",        "ignore-build-id", "skip-non-elf",
                                                "skip-refused", "move-headers",    "drop-signature",  "dry-run",
                                                "explain",      "section-address", "report",          "jobs"};

constexpr std::string_view excluded_by_output[]{"dry-run"};

constexpr std::string_view excluded_by_recursive[]{"output"};

constexpr std::string_view excluded_by_from_sframe[]{"cfi-from"};

constexpr std::string_view excluded_by_for[]{"sframe-version", "no-pcrel", "no-ra-undefined"};

constexpr std::string_view excluded_by_quiet[]{"verbose", "explain"};

constexpr Option table[]{
    {
        .name = "emit",
        .group = Group::Action,
        .action = Action::Emit,
        .argument = {ArgumentKind::Choice, "FORM", forms_of_emit, {}},
        .brief = "write the section by itself",
        .help = "write the section itself, to OUT or standard output, and leave FILE as it is: 'section', its bytes, "
                "or 'asm', an assembly file for any assembler",
        .manual = "Write the section by itself and leave FILE (one only) as it is: to OUT of --output, or else to "
                  "standard output. The report then goes to standard error, and only with --verbose or --report=json.",
        .excludes = excluded_by_emit,
        .takes_one_file = true,
    },
    {
        .name = "section-address",
        .group = Group::Action,
        .argument = {ArgumentKind::Text, "ADDRESS", {}, {}},
        .brief = "the address that the section is for",
        .help = "with --emit: where the section of a linked file will be; the default is where FILE has one, else "
                "where a conversion would put it",
        .manual = "With --emit: the virtual address that the section of a linked file will have, a multiple of 8. "
                  "Function starts are relative to it. The default is the address of the loaded *.sframe* section "
                  "that FILE has, even if that is only room for one, or else the address that a conversion would give "
                  "it; --verbose and --report=json say which.",
        .limit = &emitting,
    },
    {
        .name = "remove",
        .group = Group::Action,
        .action = Action::Remove,
        .brief = "take the section out again",
        .help = "take the section out again: gives back, byte for byte, the file that was converted",
        .manual = "Take the section out of each FILE again: gives back, byte for byte, the file that was converted. "
                  "A converted file keeps the few hundred bytes that this takes in a section *.sframe_undo* that is "
                  "not loaded, or at its end, where there are no section headers. A file that was changed in any way "
                  "since it was converted, by *strip*(1) for example, is refused; so are relocatable objects, which "
                  "keep nothing that a linker would copy.",
    },
    {
        .name = "dump",
        .group = Group::Action,
        .action = Action::Dump,
        .argument = {.kind = ArgumentKind::Choice, .name = "STYLE", .choices = forms_of_dump, .alone = "text"},
        .brief = "print what the section says",
        .help = "print what the .sframe section of each FILE says: 'text' (the default), in the notation of readelf "
                "--sframe, or 'json', an object a line for each section",
        .manual = "Print what the *.sframe* section of each FILE says: *text* (the default), in the notation of "
                  "*readelf* --sframe, or *json*, an object a line for each section, with its header, its descriptors, "
                  "their symbols and, in an object, their sections, and their rows.",
    },
    {
        .name = "only",
        .group = Group::Action,
        .argument = {ArgumentKind::Text, "PLACE", {}, {}, true},
        .brief = "dump the functions at a place",
        .help = "with --dump: only functions that reach into PLACE, as with --lookup or BEGIN..END; may be given again",
        .manual =
            "With --dump: only functions that reach into PLACE: an address, a symbol or section, with *+OFFSET* or "
            "without, or *BEGIN..END*, two of these. May be given several times.",
        .needs = "dump",
    },
    {
        .name = "lookup",
        .group = Group::Action,
        .action = Action::LookUp,
        .argument = {ArgumentKind::Text, "PLACE", {}, {}},
        .brief = "say how to unwind from a place",
        .help = "say in a line how to unwind from PLACE, by the .sframe section of each FILE: an address, or "
                "SYMBOL[+OFFSET], or in an object SECTION[+OFFSET]",
        .manual =
            "Say in one line how the *.sframe* section of each FILE unwinds from PLACE: an address, or a symbol, or "
            "a section of an object, with *+OFFSET* or without. The line names the descriptor and the row, counted "
            "from 1, and the addresses that the row is for. It is a failure if the section says nothing of PLACE.",
    },
    {
        .name = "verify",
        .group = Group::Action,
        .action = Action::Verify,
        .brief = "check every row against the DWARF",
        .help = "check every row of each FILE's .sframe against its DWARF, PC by PC",
        .manual = "Check every row of each FILE's *.sframe* against its DWARF, PC by PC, by libdwarf's own evaluation.",
    },
    {
        .name = "check",
        .group = Group::Action,
        .action = Action::Check,
        .argument = {.kind = ArgumentKind::Reader, .name = "READERS", .alone = every_reader},
        .brief = "say which readers take the section",
        .help = "say which READERS (names with commas between, see below) take each FILE's .sframe, and why others do "
                "not; without names, all that read such files",
        .manual =
            "Say whether each of READERS, names with commas between (see *READERS*), takes the *.sframe* section of "
            "each FILE, by its rules: a line a reader, which says why it does not, where in the section, and whether "
            "--for of its name helps. One that *misreads* a section does not notice that it cannot read it. Without "
            "names, all are asked that read such files: linkers read objects, others linked files. A damaged section "
            "is a matter of verdicts. It is a failure if a reader that was asked does not take the section.",
    },
    {
        .name = "launch",
        .group = Group::Action,
        .action = Action::Launch,
        .brief = "run the compiler behind -- and convert the objects it makes",
        .help = "run the compiler command behind -- and, if it made objects, convert them in place",
        .manual = "Run the command behind *--* and, if it made objects, convert them in place; see *COMPILER "
                  "LAUNCHER*.",
        // The command's own options say what it reads and writes.
        .excludes = excluded_by_launch,
    },
    {
        .name = "output",
        .short_name = 'o',
        .group = Group::Files,
        .argument = {ArgumentKind::File, "OUT", {}, {}},
        .brief = "write to another file",
        .help = "write to OUT and leave the input as it is (one FILE only)",
        .manual = "Write to OUT, a new or a regular file, and leave the input as it is. One FILE only. With --emit, "
                  "*-* is standard output.",
        .limit = &writing,
        .excludes = excluded_by_output,
        .takes_one_file = true,
    },
    {
        .name = "recursive",
        .short_name = 'r',
        .group = Group::Files,
        .brief = "work on all files below folders",
        .help = "each FILE is a folder: work on every ELF file and archive below it, and sum up at the end",
        .manual =
            "Each FILE is a folder: work on every ELF file and archive below it, known by its content, in the "
            "order of the paths, and sum up at the end. Symbolic links are not followed; devices and other file "
            "systems are left alone. A file with several names (hard links) is worked on once and has all of them "
            "afterwards; if it has names elsewhere, which would keep what it was, it is refused. Goes well with "
            "--skip-refused.",
        .limit = &working_on_files,
        .excludes = excluded_by_recursive,
    },
    {
        .name = "exclude",
        .short_name = 'X',
        .group = Group::Files,
        .argument = {ArgumentKind::Text, "PART", {}, {}, true},
        .brief = "leave out paths that contain a text",
        .help = "with --recursive: leave out files whose path below the folder contains PART; may be given again",
        .manual =
            "With --recursive: leave out files whose path, as it is below the folder, contains PART. May be given "
            "several times.",
        .needs = "recursive",
    },
    {
        .name = "linked-only",
        .group = Group::Files,
        .brief = "leave objects and archives alone",
        .help = "with --recursive: leave objects and archives as they are",
        .manual =
            "With --recursive: work on programs and libraries only, and leave objects and archives as they are. A file "
            "that ends within its ELF header is none of these.",
        .needs = "recursive",
    },
    {
        .name = "jobs",
        .short_name = 'j',
        .group = Group::Files,
        .argument = {ArgumentKind::Text, "N", {}, {}},
        .brief = "work on so many files at a time",
        .help = "work on N files at a time; the default is the cores it may run on, and N changes no output",
        .manual = "Work on up to N files at a time; the default is the number of cores that it may run on. Reports "
                  "come in the order of "
                  "the files, and neither they nor the results depend on N. Memory is bounded whatever N: files under "
                  "way are at most 256 MiB together, or one that is larger.",
        .not_with = {Action::Emit, Action::Dump, Action::LookUp},
    },
    {
        .name = "dry-run",
        .short_name = 'n',
        .group = Group::Files,
        .brief = "write nothing",
        .help = "convert and report, but write nothing",
        .manual = "Convert and report, but write nothing.",
        .limit = &writing,
    },
    {
        .name = "no-undo",
        .group = Group::Files,
        .brief = "keep nothing for --remove",
        .help = "keep nothing for --remove in linked files: for packages, whose files are stripped later",
        .manual = "Keep nothing for --remove in linked files. For packages: what strips a file, as *dh_strip*(1) does, "
                  "changes it, and the few hundred bytes that --remove needs would be shipped for nothing.",
        .limit = &converting,
    },
    {
        .name = "cfi-from",
        .group = Group::Files,
        .argument = {ArgumentKind::File, "DEBUG", {}, {}},
        .brief = "also read .debug_frame of a separate debug file",
        .help = "also read .debug_frame of DEBUG, a separate debug file with the same build-id",
        .manual = "Also read *.debug_frame* of DEBUG, a separate debug file with the same build-id. One FILE only.",
        .not_with = {Action::Dump, Action::LookUp, Action::Check, Action::Remove},
        .takes_one_file = true,
    },
    {
        .name = "from-sframe",
        .group = Group::Files,
        .brief = "take the rows of the section that is there",
        .help = "take the rows of the section that FILE has, of any version, instead of its call frame information",
        .manual =
            "Take the rows of the section that FILE, a linked file, has, of any version, instead of its call frame "
            "information. The new section is read back, and gives each PC the row it had, or FILE is refused. "
            "With --compact, a section that a linker merged becomes smaller without any DWARF.",
        .limit = &reading_rows,
        .excludes = excluded_by_from_sframe,
    },
    {
        .name = "ignore-build-id",
        .group = Group::Files,
        .brief = "take the debug file even if its build-id differs",
        .help = "take the --cfi-from file even if its build-id differs or is missing",
        .manual = "Take the --cfi-from file even if its build-id differs or is missing.",
        .needs = "cfi-from",
    },
    {
        .name = "skip-non-elf",
        .group = Group::Files,
        .brief = "pass over files that are not ELF",
        .help = "pass over files that are neither ELF nor archives instead of failing on them",
        .manual = "Pass over files that are neither ELF files nor archives instead of failing on them: scripts, data, "
                  "and the linker scripts that some libraries named *.a* are.",
    },
    {
        .name = "skip-refused",
        .group = Group::Files,
        .brief = "pass over files that cannot be done for a stated reason",
        .help = "pass over files that cannot be done for a stated reason, with a note, instead of failing",
        .manual = "Pass over files that cannot be done for a stated reason (a dynamic loader without room, code "
                  "without call frame information, a 32-bit file), with a note, instead of failing on them. A "
                  "malformed file, or one that cannot be written, fails all the same.",
    },
    {
        .name = "move-headers",
        .group = Group::Files,
        .brief = "move program headers that have no room to grow",
        .help = "where a linked file has no room for more program headers, move them to its end; never strip it then",
        .manual =
            "Where a linked file has no room for more program headers and nothing near them can make room, move "
            "them to the end of the file, in front of what is not loaded. Without this such a file is refused. "
            "It runs as before, but *strip*, *eu-strip*, *objcopy*, *dwz* and *patchelf* break it, and Linux before "
            "6.12 does not find its build-id: for files that nothing changes any more.",
        .limit = &reading_rows,
    },
    {
        .name = "drop-signature",
        .group = Group::Files,
        .brief = "convert signed kernel modules, without their signature",
        .help = "convert signed kernel modules, and take the signature away, which would be wrong then",
        .manual = "Convert signed kernel modules, and take the signature away, which would be wrong then. Without "
                  "this they are refused.",
        .limit = &converting,
    },
    {
        .name = "for",
        .group = Group::Format,
        .argument = {ArgumentKind::Reader, "READER", {}, {}},
        .brief = "write what a reader takes",
        .help = "write what READER takes: version and flags in one word, see below",
        .manual = "Write what READER takes: version and flags in one word; see *READERS*. Excludes --sframe-version, "
                  "--no-pcrel and --no-ra-undefined.",
        .limit = &making_rows,
        .excludes = excluded_by_for,
    },
    {
        .name = "sframe-version",
        .group = Group::Format,
        .argument = {ArgumentKind::Choice, "VERSION", versions, {}},
        .brief = "choose the version of the format",
        .help = "write SFrame version 3 (the default), 2 or 1, or 'ctf' for CTF Frame, which came before them",
        .manual = "Write SFrame version *3* (the default), *2* or *1*, or *ctf* for CTF Frame, which came before them; "
                  "see *FORMATS*.",
        .limit = &making_rows,
    },
    {
        .name = "no-pcrel",
        .group = Group::Format,
        .brief = "version 2 for readers older than its errata",
        .help = "version 2 for readers older than its errata: function starts relative to the section, and "
                "--no-ra-undefined",
        .manual = "Version 2 for readers older than its errata: function starts are relative to the section, not to "
                  "their own field, and outermost frames are left out as with --no-ra-undefined.",
        .limit = &making_rows,
    },
    {
        .name = "no-ra-undefined",
        .group = Group::Format,
        .brief = "leave outermost frames out",
        .help = "leave outermost frames out instead of writing rows without words (version 2, erratum 2)",
        .manual = "Leave outermost frames out instead of writing rows without words, which say that there is no "
                  "caller (version 3, and version 2 since its second erratum).",
        .limit = &making_rows,
    },
    {
        .name = "no-stubs",
        .group = Group::Format,
        .brief = "no rows from instructions",
        .help = "rows from call frame information only, none from the instructions of PLT stubs and start code",
        .manual = "Make rows from call frame information only. Without this, linked files also get rows for what their "
                  "instructions alone describe exactly: stubs of procedure linkage tables, as GNU ld, gold, lld and "
                  "mold write them, and the pieces that programs start and end with. There, call frame information "
                  "counts only if the instructions say the same; *--verbose* names each difference.",
        .limit = &making_rows,
    },
    {
        .name = "flexible",
        .group = Group::Format,
        .argument = {ArgumentKind::Choice, "WHEN", uses_of_flexible_descriptors, {}},
        .brief = "use flexible descriptors",
        .help = "version 3: use flexible descriptors 'always', 'never', or ('auto', the default) except on aarch64, "
                "where no reader has met one",
        .manual = "Use flexible descriptors of version 3 *always*, *never*, or (*auto*, the default) except on "
                  "aarch64, where no reader has met one. Without them, rules such as a CFA on another register than "
                  "the stack or frame pointer are left out.",
        .limit = &making_rows,
    },
    {
        .name = "compact",
        .group = Group::Format,
        .argument = {.kind = ArgumentKind::Text, .name = "N", .alone = "32"},
        .brief = "take few bytes",
        .help =
            "say the same rows in few bytes: neighbouring functions in one descriptor of at most N rows (32, from 1 "
            "to 64), and equal rows stored once",
        .manual =
            "Say the same rows in few bytes: neighbouring functions, with nothing but padding between them, in one "
            "descriptor of at most N rows (*32*, from 1 to 64), and equal rows stored once. N is what a reader "
            "may have to scan. With --for, only what READER takes; in objects, only what linkers keep. See "
            "*docs/compact.md*.",
        .limit = &making_rows,
    },
    {
        .name = "report",
        .argument = {ArgumentKind::Choice, "FORMAT", formats_of_report, "summary"},
        .brief = "choose the form of the report",
        .help = "summary: one line a file; json: one JSON object a line for each file, with the coverage and every "
                "reason",
        .manual = "*summary* (the default): one line a file. *json*: one JSON object a line for each file, with "
                  "coverage, every hole and its reason, and the plan of the rewrite.",
        // What these print has forms of its own.
        .not_with = {Action::Dump, Action::LookUp},
    },
    {
        .name = "explain",
        .brief = "name each plan for the rewrite, and code without rows",
        .help = "name each plan for the rewrite with what it would do or why it does not work, and the one taken; and "
                "all code that no call frame information or no row describes",
        .manual = "Name each plan for the rewrite, in the order of its least cost: what it would do to the file, or "
                  "why it does not work, and which one was taken. S1 puts the section into the gap behind a segment, "
                  "S2 into a segment above all others, S3 into one below them; program headers go to free space "
                  "behind the others (T0), or into the place of notes (T1), of tables of the dynamic linker (T2), or "
                  "into new pages below the program (T3), with *--move-headers* to the end of the file (T4). Name all "
                  "code as well that no call frame information or no row "
                  "describes, by section and function, but for padding. Goes well with --dry-run.",
        .limit = &converting,
    },
    {
        .name = "quiet",
        .short_name = 'q',
        .brief = "print errors only",
        .help = "print errors only",
        .manual = "Print errors only.",
        .excludes = excluded_by_quiet,
    },
    {
        .name = "verbose",
        .short_name = 'v',
        .brief = "name each function that is left out",
        .help = "name each function that is left out, the plan of the rewrite, and how much code has no row",
        .manual = "Name each function that is left out, and the plan of the rewrite, and say how much code no call "
                  "frame information and no row describes, with the three largest places.",
    },
    {
        .name = "help",
        .short_name = 'h',
        .action = Action::Help,
        .brief = "print help",
        .help = "print this and exit",
        .manual = "Print a short help and exit.",
    },
    {
        .name = "version",
        .short_name = 'V',
        .action = Action::Version,
        .brief = "print the version",
        .help = "print the version and exit",
        .manual = "Print the version and exit.",
    },
};

bool names(const Option& one, const Option& other) {
  return std::ranges::find(one.excludes, other.name) != one.excludes.end();
}

/// Whether `option` is of no use to `action`.
bool is_kept_from(const Option& option, Action action) {
  if (action == Action::Convert) return false;
  if (option.not_with.contains(action)) return true;
  const Limit* const limit = option.limit;
  return limit != nullptr && !limit->actions.contains(action);
}

}  // namespace

std::span<const Option> option_table() {
  return table;
}

const Option& option_named(std::string_view name) {
  const auto* const found = std::ranges::find(table, name, &Option::name);
  assert(found != std::end(table));
  return *found;
}

const Option& option_for(Action action) {
  assert(action != Action::Convert);
  return *std::ranges::find(table, action, &Option::action);
}

bool exclude_each_other(const Option& one, const Option& other) {
  if (&one == &other) return false;
  const bool both_act = one.action != Action::Convert && other.action != Action::Convert;
  return both_act || names(one, other) || names(other, one) || is_kept_from(one, other.action) ||
         is_kept_from(other, one.action);
}

std::string_view heading_of(Group group) {
  switch (group) {
    case Group::Action:
      return "Instead of converting";
    case Group::Files:
      return "Files";
    case Group::Format:
      return "Format";
    case Group::Report:
      return "Report";
  }
  return {};
}

}  // namespace sframe_gen::cli
